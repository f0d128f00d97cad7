/** What it costs to list who is there. */
import type { ExtensionAPI } from "@earendil-works/pi-coding-agent";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync, writeFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { runningFolder } from "../../src/mail/root.ts";
import { findProcesses } from "../../src/sessions/process.ts";
import { runningRecords, writeRecord } from "../../src/sessions/record.ts";
import { Session } from "../../src/surface/session.ts";
import { registerList } from "../../src/surface/tools/list.ts";
import { newSessionId } from "../host/pi.ts";
import { agentFolderIn, BenchHost, openMailbox } from "./host.ts";
import { paired, timed } from "./paired.ts";
import { type Part, withState } from "./part.ts";
import { ratioRow } from "./table.ts";

const COUNT = 200;

export const list: Part = {
  name: "list",
  about: "list with 200 running records",
  run: (folder) =>
    withState(folder, async () => {
      const host = new BenchHost(newSessionId(), agentFolderIn(folder, { durable: true }));
      const mailbox = openMailbox(host);
      const processes: ChildProcess[] = [];
      try {
        // One session is this one; the others have processes of their own, as they would.
        while (processes.length < COUNT - 1) processes.push(await sleeper());
        processes.forEach(({ pid }, index) => {
          record(pid ?? 0, index);
        });
        if (runningRecords().length !== COUNT) throw new Error("not all sessions are listed");
        const session = new Session();
        session.open(mailbox);
        const text = listTool(session);
        const small = copyRecords(folder);
        const pair = await paired(
          { rounds: 60, warmUp: 10 },
          () => timed(text),
          () =>
            timed(() => readdirSync(small).map((name) => readFileSync(join(small, name), "utf8"))),
        );
        return {
          rows: [ratioRow("list with 200 running records", "reading 200 small files", pair, 2)],
        };
      } finally {
        for (const sleeping of processes) sleeping.kill("SIGKILL");
        mailbox.close();
      }
    }),
};

async function sleeper(): Promise<ChildProcess> {
  const child = spawn("sleep", ["300"], { stdio: "ignore" });
  await once(child, "spawn");
  return child;
}

function record(pid: number, index: number): void {
  writeRecord({
    address: newSessionId(),
    name: `session ${index}`,
    cwd: "/home/somebody/projects/dashboard",
    pid,
    started: findProcesses([pid]).get(pid)?.token ?? "",
    state: index % 3 === 0 ? "busy" : "idle",
    waitingOn: "",
    updated: new Date().toISOString(),
  });
}

/** What runs the tool, without a Pi around it. */
function listTool(session: Session): () => void {
  let execute: (() => unknown) | undefined;
  const registered: Pick<ExtensionAPI, "registerTool"> = {
    registerTool: (tool) => {
      const taken = tool as unknown as { execute: () => unknown };
      execute = () => taken.execute();
    },
  };
  registerList(registered as ExtensionAPI, session);
  return () => {
    execute?.();
  };
}

function copyRecords(folder: string): string {
  const copies = join(folder, "copies");
  mkdirSync(copies);
  for (const name of readdirSync(runningFolder())) {
    writeFileSync(join(copies, name), readFileSync(join(runningFolder(), name)));
  }
  return copies;
}

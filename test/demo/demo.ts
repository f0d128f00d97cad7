/**
 * `npm run demo`: two real Pi sessions with a scripted model exchange mail. Everything printed
 * has happened; what does not happen ends the demo with an error.
 */
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "../host/eventually.ts";
import { call, type ModelRequest, say } from "../host/model.ts";
import { newSessionId, type PiSession, textOf } from "../host/session.ts";
import { Workplace } from "../host/workplace.ts";
import { line, part, print } from "./transcript.ts";

const workplace = await Workplace.open();
for (const signal of ["SIGINT", "SIGTERM"] as const) {
  process.once(signal, () => {
    void workplace.close().finally(() => process.exit(1));
  });
}
const started = performance.now();
try {
  await run();
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  print(`\nAll of it happened, in ${seconds} s.`);
} catch (error) {
  process.exitCode = 1;
  print(
    `\nThe demo failed: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`,
  );
} finally {
  await workplace.close();
}
if (existsSync(workplace.folder)) {
  process.exitCode = 1;
  print(`The demo left ${workplace.folder} behind.`);
}

async function run(): Promise<void> {
  print(
    "Two Pi sessions, alice and bob, each in a process of its own. Only their model is scripted.",
  );
  const bobId = newSessionId();
  const [alice, bob] = await Promise.all([
    workplace.session({ name: "alice" }),
    workplace.session({ name: "bob", id: bobId }),
  ]);
  await request(alice, bob);
  await ask(alice, bob);
  await closed(alice, bob);
}

async function request(alice: PiSession, bob: PiSession): Promise<void> {
  part(
    "1. A request",
    "A person in alice's terminal types; bob's model does it; its final answer comes back by itself.",
  );
  workplace.model.script(
    "bob",
    call("bash", { command: "echo 12 passed, 0 failed" }),
    say("I ran the tests: 12 passed, 0 failed."),
  );
  await type(alice, "/mailbox bob please run the tests");
  await bob.settled();
  shownTo("bob", workplace.model.requests("bob")[0], "please run the tests");
  line("bob", "runs a shell command and ends its turn:", bob.answers().at(-1));

  await showReply(alice, "12 passed");
  expect(workplace.model.requests("alice").length === 0, "The reply cost alice a model request.");
  line("", "(no model request was spent on showing it)");
}

async function ask(alice: PiSession, bob: PiSession): Promise<void> {
  part(
    "2. An ask, answered in the middle of a run",
    "alice's model needs one fact from bob, who is busy with work of its own.",
  );
  const go = join(workplace.folder, "go");
  const seen = workplace.model.requests("bob").length;
  workplace.model.script(
    "bob",
    call("bash", { command: `until [ -e '${go}' ]; do sleep 0.05; done; echo reviewed 3 files` }),
    (shown) => call("session_mail_reply", { ask: askIdIn(shown), message: "8080, see server.ts" }),
    say("The review of 3 files is done; nothing to change."),
  );
  workplace.model.script(
    "alice",
    call("session_mail_ask", { to: "bob", message: "Which port does the server listen on?" }),
    say("Deployed: the health check on port 8080 is green."),
  );
  const work = bob.prompt("review the code");
  await workplace.model.waitForRequests("bob", seen + 1);
  line("bob", "is told by its user to review the code, and starts");
  const mark = alice.mark();
  await alice.prompt("deploy the server");
  line("alice", "is told by her user to deploy, and calls session_mail_ask to bob:");
  line("", "Which port does the server listen on?");
  await eventually(
    () => readdirSync(workplace.mailbox(bob.id).cur).length > 1 || undefined,
    "bob's mailbox to have claimed the ask",
  );
  workplace.write("go", "");
  await alice.settled(mark);
  shownTo("bob", workplace.model.requests("bob")[seen + 1], "Which port");
  const answer = workplace.model.requests("alice").at(-1)?.last ?? "";
  expect(answer.includes("8080, see server.ts"), "alice's tool call did not get the answer.");
  line("alice", "gets the answer as the result of her tool call:", answer);
  line("alice", "goes on in the same run:", alice.answers().at(-1));
  await work;
  await bob.settled();
  line("bob", "has answered and gone on with its own work:", bob.answers().at(-1));
  expect((bob.answers().at(-1) ?? "").includes("review of 3 files"), "bob's own work is not done.");
}

async function closed(alice: PiSession, bob: PiSession): Promise<void> {
  part("3. Mail for a closed session", "Mail waits on disk until its session is opened again.");
  await bob.quit();
  line("bob", "is closed");
  workplace.model.script("bob", say("Renamed, and the tests still pass."));
  const seen = workplace.model.requests("bob").length;
  await type(alice, `/mailbox ${bob.id} rename the function old to fresh`);
  const waiting = readdirSync(workplace.mailbox(bob.id).new);
  expect(waiting.length === 1, "The mail does not wait in bob's mailbox.");
  line("", "the mail waits as a file:", `${bob.id}/new/${waiting[0] ?? ""}`);

  const again = await workplace.session({ name: "bob", id: bob.id, resume: true });
  line("bob", "is opened again");
  await again.settled(0);
  shownTo("bob", workplace.model.requests("bob")[seen], "rename the function");
  await showReply(alice, "Renamed");
  expect(readdirSync(workplace.mailbox(bob.id).new).length === 0, "The mail still waits.");
}

/** Types a command in a session and shows what it says. */
async function type(session: PiSession, command: string): Promise<void> {
  line(session.label, `types  ${command}`);
  const [said] = await session.command(command);
  expect(
    said?.message.startsWith("Sent ") === true,
    `${command} did not send: ${said?.message ?? ""}`,
  );
  line("", said?.message ?? "");
}

/** Shows the mail that a model was shown, which must hold `text`. */
function shownTo(who: string, request: ModelRequest | undefined, text: string): void {
  const mail = request?.last ?? "";
  expect(
    mail.includes("[mailbox]") && mail.includes(text),
    `${who}'s model was not shown the mail.`,
  );
  line(who, "its model reads:", mail);
}

async function showReply(alice: PiSession, text: string): Promise<void> {
  const entry = await alice.waitForEntry(
    (each) => each.type === "custom_message" && textOf(each).includes(text),
    "the reply in alice's session",
  );
  line("alice", "sees in her session:", textOf(entry));
}

function askIdIn({ last }: ModelRequest): string {
  const id = /ask id ([\w-]+)/.exec(last)?.[1];
  if (id === undefined) throw new Error("bob's model was not shown the ask.");
  return id;
}

function expect(held: boolean, otherwise: string): void {
  if (!held) throw new Error(otherwise);
}

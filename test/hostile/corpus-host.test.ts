/** The whole corpus at once, in a real Pi session. */
import { lstatSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import {
  Correspondent,
  framesIn,
  mailEntries,
  untilIdle,
  type Letter,
} from "../delivery/life-support.ts";
import { eventually } from "../host/eventually.ts";
import { newSessionId, textOf, type PiSession } from "../host/session.ts";
import { Workplace } from "../host/workplace.ts";
import { BIDIRECTIONAL, ESCAPES, linesOf, looksLikeFrame } from "../turn/reader.ts";
import { CannotBePlanted, CORPUS, type Fate, type Place, type Planted } from "./corpus.ts";
import { lookOutside, makeOutside, SENTINEL } from "./outside.ts";

let workplace: Workplace;
beforeAll(async () => {
  workplace = await Workplace.open();
});
afterAll(() => workplace.close());

interface Found extends Planted {
  readonly what: string;
  readonly expect: Fate;
}

describe.each(["while a session runs", "before it starts"])(
  "S2.6 S2.7 the corpus, planted %s",
  (when) => {
    const id = newSessionId();
    let session: PiSession;
    let found: Found[];
    let before: object[];
    let good: Letter;
    let writer: Correspondent;
    let place: Place;

    beforeAll(async () => {
      const { new: box } = workplace.mailbox(id);
      mkdirSync(box, { recursive: true, mode: 0o700 });
      place = { box, address: id, outside: join(workplace.stateDirectory, "outside") };
      makeOutside(place.outside);
      const open = () => workplace.session({ name: "bob", id });
      if (when === "while a session runs") session = await open();
      found = await plantAll(place);
      before = lookOutside(place.outside);
      writer = new Correspondent(workplace);
      good = writer.send(id, "request", "behind it all");
      if (when === "before it starts") session = await open();
    });
    afterAll(async () => {
      await session.kill();
      for (const { close } of found) await close?.();
    });

    test("mail behind it is answered, and the session answers its user", async () => {
      expect(await writer.answerTo(good)).toMatchObject({ status: "done" });
      await untilIdle(session);
      expect(await session.ask("Are you there?")).toMatchObject({ stopReason: "stop" });
      expect(session.extensionErrors).toEqual([]);
    });

    test("just the mail in it has entered, each once and in one frame", async () => {
      const ids = idsOf(found, "delivered");
      const entries = await eventually(async () => {
        const mails = mailEntries(await session.entries());
        return mails.length > ids.length ? mails : undefined;
      }, "the mail of the corpus");
      expect(entries.map(({ details }) => details?.["id"]).sort()).toEqual(
        [...ids, good.id].sort(),
      );
      for (const entry of entries) {
        expect(linesOf(textOf(entry)).filter(looksLikeFrame)).toHaveLength(2);
        expectUnarmed(textOf(entry));
        expectUnarmed(JSON.stringify(entry.details));
      }
      await session.ask("Anything else?");
      const request = workplace.model.requests("bob").findLast(({ summary }) => !summary);
      expect(framesIn(request?.text ?? "")).toHaveLength(entries.length);
      expect(JSON.stringify(request)).not.toContain(SENTINEL);
    });

    test("each file that is none lies in cur/ with one warning; what is no file stayed", async () => {
      const { cur } = workplace.mailbox(id);
      const aside = found.filter(({ expect: fate }) => fate === "set aside");
      await eventually(() => session.notifications.length >= aside.length, "the warnings");
      for (const { what, name } of aside) {
        expect(isThere(cur, name), what).toBe(true);
        expect(isThere(place.box, name), what).toBe(false);
      }
      for (const { what, name } of found.filter(({ expect: fate }) => fate === "left")) {
        expect(isThere(place.box, name), what).toBe(true);
      }
      expect(session.notifications).toHaveLength(aside.length);
      for (const { level, message } of session.notifications) {
        expect(level).toBe("warning");
        expect(message).toMatch(/^mailbox: .* was set aside: [^:]+\.$/);
        expect(message).toContain(cur);
      }
    });

    test("S5.11 nothing that acts on a terminal was shown", () => {
      const shown = session.events.filter(({ type }) => type === "extension_ui_request");
      expect(shown.length).toBeGreaterThan(0);
      for (const event of shown) {
        for (const text of Object.values(event)) if (typeof text === "string") expectUnarmed(text);
      }
    });

    test("nothing outside the mail root was read, changed or shown", () => {
      expect(lookOutside(place.outside)).toEqual(before);
      expect(session.events.some((event) => JSON.stringify(event).includes(SENTINEL))).toBe(false);
    });
  },
);

/** Plants all that this user can make. */
async function plantAll(place: Place): Promise<Found[]> {
  const found: Found[] = [];
  for (const { name, expect: fate, plant } of CORPUS) {
    try {
      found.push({ ...(await plant(place)), what: name, expect: fate });
    } catch (error) {
      if (!(error instanceof CannotBePlanted)) throw error;
      console.warn(`not planted: ${name}: ${error.message}`);
    }
  }
  return found;
}

function idsOf(found: readonly Found[], fate: Fate): string[] {
  return found.flatMap((file) => (file.expect === fate ? (file.id ?? []) : []));
}

function isThere(box: string, name: string | Buffer): boolean {
  const path = Buffer.concat([Buffer.from(`${box}/`), Buffer.from(name)]);
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

function expectUnarmed(text: string): void {
  expect(ESCAPES.exec(text)).toBeNull();
  expect(BIDIRECTIONAL.exec(text)).toBeNull();
}

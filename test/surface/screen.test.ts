import { describe, expect, test, vi } from "vitest";
import { ALICE, BOB, CAROL, mail } from "../fixtures/mail.ts";
import { timesAsLong } from "../fixtures/time.ts";
import { FakeSource, KEYS, Opened, received, row, SELF, sentMail } from "./screen-support.ts";

const { up, down, left, right, tab, shiftTab, enter, shiftEnter, escape, ctrlC } = KEYS;

describe("S18.2 the screen", () => {
  test("is headed by this session's name and address, at any width", () => {
    const opened = new Opened();
    expect(opened.lines()[0]).toBe(` Mailbox of alice  ${ALICE}`);
    opened.width = 40;
    expect(opened.lines().slice(0, 2)).toEqual([" Mailbox of alice", ` ${ALICE}`]);
  });

  test("says in one line at the bottom what keys do, as much as fits", () => {
    const opened = new Opened();
    opened.width = 60;
    opened.press(right);
    expect(opened.lines().at(-1)).toBe(
      " esc close · enter open · n new · r write back · ↑↓←→ move",
    );
    opened.width = 40;
    expect(opened.lines().at(-1)).toBe(" esc close · enter open · n new");
  });

  test("closes with Esc, and nothing runs after", () => {
    const opened = new Opened().press(escape);
    expect(opened.closed).toBe(1);
    expect(opened.clock.pending).toBe(0);
  });

  test("closes with Ctrl+C as well", () => {
    expect(new Opened().press(ctrlC).closed).toBe(1);
  });

  test("nothing runs after Pi has taken it away", () => {
    const opened = new Opened();
    opened.screen.dispose();
    expect(opened.clock.pending).toBe(0);
  });

  test("looks no more once the session is another one", () => {
    const opened = new Opened();
    opened.source.open = false;
    const { reads } = opened.source;
    opened.clock.advance(2000);
    expect(opened.source.reads).toBe(reads);
    expect(opened.clock.pending).toBe(0);
    expect(opened.text).toContain("The session of this mailbox is closed");
    expect(opened.press(escape).closed).toBe(1);
  });

  test("makes way for a dialog that has the focus", () => {
    const opened = new Opened();
    opened.screen.focused = false;
    expect(opened.screen.render(80)).toHaveLength(1);
    opened.screen.focused = true;
    expect(opened.lines()).toHaveLength(24);
  });
});

describe("S18.2 the end of the screen", () => {
  test("that Pi takes away tells who waits for it, once", () => {
    const opened = new Opened();
    opened.screen.dispose();
    opened.screen.dispose();
    expect(opened.closed).toBe(1);
    expect(opened.clock.pending).toBe(0);
    expect(new Opened().press(escape).closed).toBe(1);
  });
});

describe("S18.2 its lists", () => {
  test("are read anew less often where that takes long", () => {
    const source = new FakeSource();
    const opened = new Opened(source);
    let at = opened.clock.elapsed();
    const elapsed = vi.spyOn(opened.clock, "elapsed");
    // Each reading takes a second.
    elapsed.mockImplementation(() => (at += 500));
    opened.clock.advance(2000);
    const reads = source.reads;
    opened.clock.advance(20_000);
    expect(source.reads).toBe(reads);
    at += 100_000;
    opened.clock.advance(2000);
    expect(source.reads).toBe(reads + 1);
  });

  test("are switched by the arrows and by Tab, around the ends", () => {
    const opened = new Opened();
    const shown = (): string | undefined => /\[(\w+) \d+\]/.exec(opened.text)?.[1];
    expect(shown()).toBe("Sessions");
    const seen = [right, right, right, left, tab, shiftTab].map((key) => {
      opened.press(key);
      return shown();
    });
    expect(seen).toEqual(["Inbox", "Sent", "Sessions", "Sent", "Sessions", "Sent"]);
  });

  test("show the running sessions, with what they do and whom they wait for", () => {
    const opened = new Opened();
    opened.width = 120;
    opened.source.rows = [
      row(),
      row({ address: CAROL, label: "carol", state: "busy", waitingOn: "bob" }),
      SELF,
    ];
    opened.clock.advance(2000);
    expect(opened.lines().slice(3, 6)).toEqual([
      "→ bob    idle                  /home/me/project",
      "  carol  busy, waiting on bob  /home/me/project",
      "  alice  this session          /home/me/project",
    ]);
  });

  test("show the end of a folder that has no room, which tells it from others", () => {
    const opened = new Opened();
    opened.width = 40;
    opened.source.rows = [row({ cwd: "/home/me/work/漢字/very/long/api" }), SELF];
    opened.clock.advance(2000);
    expect(opened.lines()[4]).toBe("→ bob    idle          …字/very/long/api");
  });

  test("show mail with time, other session, kind, state and first line", () => {
    const opened = new Opened();
    const ts = "2020-01-02T12:00:00.000Z";
    opened.source.received = [
      received({ kind: "ask", body: "\nWhich port?\nTell me.", ts }, { state: "to answer" }),
    ];
    opened.press(right).clock.advance(2000);
    expect(opened.lines()[3]).toBe("→ 2020-01-02  bob  ask  to answer  Which port?");
  });

  test("say what to do while they are empty", () => {
    const opened = new Opened();
    opened.source.rows = [SELF];
    opened.clock.advance(2000);
    expect(opened.text).toContain("No other session is running.");
    expect(opened.press(right).text).toContain("No mail yet.");
    expect(opened.press(right).text).toContain("Nothing sent yet. Press n");
  });

  test("are read anew every two seconds, the selection staying on its mail", () => {
    const opened = new Opened();
    const [first, second, newer] = ["one", "two", "newer"].map((body) => received({ body }));
    opened.source.received = [second!, first!];
    opened.clock.advance(2000);
    opened.press(right, down);
    opened.source.received = [newer!, second!, first!];
    const { requests } = opened;
    opened.clock.advance(2000);
    expect(opened.requests).toBe(requests + 1);
    expect(opened.lines()[5]).toMatch(/^→ .* one$/);
    opened.source.received = [newer!];
    opened.clock.advance(2000);
    expect(opened.lines()[3]).toMatch(/^→ .* newer$/);
  });

  test("scroll so that the selection is seen, and move around the ends", () => {
    const opened = new Opened();
    opened.height = 12;
    opened.source.received = Array.from({ length: 20 }, (_, at) =>
      received({ body: `mail ${String(at)}.` }),
    );
    opened.clock.advance(2000);
    opened.press(right, up);
    expect(opened.text).toMatch(/→ .*mail 19\./);
    expect(opened.press(down).text).toMatch(/→ .*mail 0\./);
    expect(opened.press(KEYS.pageDown).text).toMatch(/→ .*mail 7\./);
    expect(opened.press(KEYS.end).text).toMatch(/→ .*mail 19\./);
    expect(opened.press(KEYS.home).text).toMatch(/→ .*mail 0\./);
  });

  test("stay as they were while the disk cannot be read, and the reason is shown", () => {
    const opened = new Opened();
    opened.source.received = [received({ body: "still here" })];
    opened.clock.advance(2000);
    opened.source.broken = Object.assign(new Error("EIO: i/o error"), { code: "EIO" });
    opened.press(right).clock.advance(2000);
    expect(opened.text).toContain("still here");
    expect(opened.text).toContain("EIO: i/o error; check the disk");
    opened.source.broken = undefined;
    opened.clock.advance(2000);
    expect(opened.text).not.toContain("EIO");
  });
});

describe("S18.2 Enter opens a mail whole", () => {
  test("with all that there is to know of it, its body as Markdown", () => {
    const opened = new Opened();
    opened.width = 100;
    const mail = received({ kind: "reply", status: "failed", body: "# Oh\n\nIt **broke**." });
    opened.source.received = [mail];
    opened.clock.advance(2000);
    const { text } = opened.press(right, enter);
    expect(text).toContain(`From    bob (${BOB})`);
    expect(text).toContain("Kind    reply, failed");
    expect(text).toContain("State   read");
    expect(text).toContain(`Id      ${mail.envelope.id}`);
    expect(text).toContain(`File    ${mail.path}`);
    expect(text).toContain("It broke.");
  });

  test("says to whom it went", () => {
    const opened = new Opened();
    opened.source.went = [sentMail()];
    opened.clock.advance(2000);
    expect(opened.press(left, enter).text).toContain(`To      bob (${BOB})`);
  });

  test("scrolls by lines and pages, and not beyond its ends", () => {
    const opened = new Opened();
    opened.height = 12;
    const body = Array.from({ length: 30 }, (_, at) => `line ${String(at)}.`).join("\n\n");
    opened.source.received = [received({ body })];
    opened.clock.advance(2000);
    opened.press(right, enter);
    expect(opened.text).toContain("1–7 of");
    expect(opened.press(down, down).text).toContain("3–9 of");
    expect(opened.press(up, up, up, up).text).toContain("1–7 of");
    expect(opened.press(KEYS.pageDown).text).toContain("8–14 of");
    expect(opened.press(KEYS.end, down, KEYS.pageDown).text).toContain("line 29.");
    expect(opened.press(KEYS.home).text).toContain("From");
  });

  test("scrolls with the wheel, as do the lists", () => {
    const opened = new Opened();
    opened.height = 12;
    opened.source.received = Array.from({ length: 20 }, (_, at) =>
      received({ body: `mail ${String(at)}.\n\n`.repeat(20) }),
    );
    opened.clock.advance(2000);
    expect(opened.press(right).wheel(3).text).toMatch(/→ .*mail 3\./);
    expect(opened.wheel(-9).text).toMatch(/→ .*mail 0\./);
    opened.press(enter).raw();
    expect(opened.wheel(2).text).toContain("3–9 of");
    expect(opened.wheel(-5).text).toContain("1–7 of");
    opened.wheel(500);
    expect(opened.press(up).wheel(1).lines()).toEqual(opened.press(KEYS.end).lines());
  });

  test("shows how it stands now, and stays when it has left the list", () => {
    const opened = new Opened();
    const mail = received({ kind: "ask", body: "Which port?" }, { state: "to answer" });
    opened.source.received = [mail];
    opened.clock.advance(2000);
    opened.press(right, enter);
    opened.source.received = [{ ...mail, state: "answered" }];
    opened.clock.advance(2000);
    expect(opened.text).toContain("State   answered");
    opened.source.received = [];
    opened.clock.advance(2000);
    expect(opened.text).toContain("Which port?");
    expect(opened.press(escape).text).toContain("[Inbox 0]");
  });

  test("shows a long one to 256 KiB, and names its file for the rest", () => {
    const opened = new Opened();
    const mail = received({ body: "word ".repeat(200_000) });
    opened.source.received = [mail];
    opened.clock.advance(2000);
    expect(opened.press(right, enter, KEYS.end).text).toContain("(Cut here; the whole mail is in");
  });

  test.each([
    ["emphasis", "**a ".repeat(8000)],
    ["an address", `${"a.".repeat(16_000)}@`],
    ["quotes", "> ".repeat(16_000)],
    ["brackets", "![".repeat(16_000)],
  ])("does not hold Pi up with %s that takes a parser of Markdown long", (_name, body) => {
    const read = (text: string) => (): void => {
      const opened = new Opened();
      opened.source.received = [received({ body: text })];
      opened.clock.advance(2000);
      opened.press(right, enter).raw();
    };
    expect(timesAsLong(read(body), read("prose ".repeat(5000)))).toBeLessThan(20);
  });
});

describe("S18.2 a mail of ours", () => {
  test("is shown with what it was answered with", () => {
    const opened = new Opened();
    const answer = mail({ from: BOB, kind: "reply", body: "**8080**, of course" });
    opened.source.went = [
      sentMail(
        { kind: "ask", body: "Which port?" },
        { state: "answered done", answer: { ...answer, status: "done" } },
      ),
    ];
    opened.clock.advance(2000);
    expect(opened.press(left, enter).text).toMatch(
      /Which port\?\n[^]*─\n ← bob · done · [^\n]+\n\n 8080, of course/,
    );
  });
});

describe("S18.2 r answers", () => {
  test.each(["to answer", "held"] as const)(
    "a mail that is %s: the text goes as its answer",
    (state) => {
      const opened = new Opened();
      const mail = received({ kind: "ask", body: "Which port?" }, { state });
      opened.source.received = [mail];
      opened.clock.advance(2000);
      opened.press(right, enter, "r");
      expect(opened.text).toContain("Your answer to the ask of bob");
      expect(opened.text).toContain("> Which port?");
      opened.type("8080").press(enter);
      expect(opened.source.answers).toEqual([{ id: mail.envelope.id, text: "8080" }]);
      expect(opened.source.sends).toEqual([]);
      expect(opened.text).toMatch(/Sent [\da-f-]{36} to bob/);
      expect(opened.text).toContain(`State   ${state}`);
    },
  );

  test("any other mail with a new request to its sender, and says so", () => {
    const opened = new Opened();
    opened.source.received = [received()];
    opened.clock.advance(2000);
    opened.press(right, "r");
    expect(opened.text).toContain(`New request to bob (${BOB})`);
    opened.type("thanks").press(enter);
    expect(opened.source.sends).toEqual([{ to: BOB, text: "thanks" }]);
  });

  test("a mail of ours with a new request to its recipient", () => {
    const opened = new Opened();
    opened.source.went = [sentMail({ to: CAROL }, { other: "carol", state: "read" })];
    opened.clock.advance(2000);
    opened.press(left, "r").type("more").press(enter);
    expect(opened.source.sends).toEqual([{ to: CAROL, text: "more" }]);
  });
});

describe("S18.2 writing", () => {
  test("Enter on a session writes to it, and back at the lists says what was sent", () => {
    const opened = new Opened().press(down, enter).type("hello").press(shiftEnter).type("there");
    opened.press(enter);
    expect(opened.source.sends).toEqual([{ to: CAROL, text: "hello\nthere" }]);
    expect(opened.text).toContain("[Sessions 3]");
    expect(opened.text).toMatch(/Sent [\da-f-]{36} to bob/);
  });

  test.each(["n", "c"])("%s picks a recipient among the other sessions first", (key) => {
    const opened = new Opened().press(right, key);
    expect(opened.text).toContain("to whom?");
    expect(opened.lines().slice(3).join()).not.toContain("alice");
    opened.press(down, enter).type("hello").press(enter);
    expect(opened.source.sends).toEqual([{ to: CAROL, text: "hello" }]);
    expect(opened.text).toContain("[Inbox 0]");
  });

  test("to nobody, where no other session runs, is refused with what to do", () => {
    const opened = new Opened();
    opened.source.rows = [SELF];
    opened.clock.advance(2000);
    expect(opened.press("n").text).toContain("No other session is running; start Pi");
    expect(opened.press(enter).text).toContain("This is your own session");
  });

  test("letters are text in the composer, not keys of the screen", () => {
    const opened = new Opened().press(enter).type("rnc").press(enter);
    expect(opened.source.sends).toEqual([{ to: BOB, text: "rnc" }]);
  });

  test("a text that is refused stays, with the reason until the next key", () => {
    const opened = new Opened();
    opened.source.refusal = new Error("Nothing was sent: the disk is full.");
    opened.press(enter).type("a long text").press(enter);
    expect(opened.text).toContain("Nothing was sent: the disk is full.");
    expect(opened.text).toContain("a long text");
    opened.source.refusal = undefined;
    expect(opened.type("!").text).not.toContain("the disk is full");
    opened.press(enter);
    expect(opened.source.sends).toEqual([{ to: BOB, text: "a long text!" }]);
  });

  test("an empty text is not sent", () => {
    const opened = new Opened().press(enter).type("  ").press(enter);
    expect(opened.text).toContain("the message is empty");
    expect(opened.source.sends).toEqual([]);
  });

  test("Esc keeps an unfinished text, for that recipient alone", () => {
    const opened = new Opened().press(enter).type("unfinished").press(escape);
    expect(opened.text).toContain("[Sessions 3]");
    expect(opened.press(down, enter).text).not.toContain("unfinished");
    expect(opened.press(escape, "n", enter).text).toContain("unfinished");
    opened.press(enter);
    expect(opened.source.sends).toEqual([{ to: BOB, text: "unfinished" }]);
    expect(opened.press(enter).text).not.toContain("unfinished");
  });

  test("an unfinished text is kept for its mail: never offered as the answer to another", () => {
    const opened = new Opened();
    const owed = [1, 2].map((at) =>
      received({ kind: "request", body: `question ${String(at)}` }, { state: "to answer" }),
    );
    opened.source.received = owed;
    opened.clock.advance(2000);
    opened.press(right, "r").type("to the first").press(escape);
    expect(opened.press(down, "r").text).toContain("> question 2");
    expect(opened.text).not.toContain("to the first");
    opened.press(escape, "n", enter);
    expect(opened.text).not.toContain("to the first");
    opened.press(escape, up, "r").press(enter);
    expect(opened.source.answers).toEqual([{ id: owed[0]!.envelope.id, text: "to the first" }]);
  });

  test("an answer that comes too late stays, and can go as a new request", () => {
    const opened = new Opened();
    const asked = received({ kind: "request" }, { state: "to answer" });
    opened.source.received = [asked];
    opened.clock.advance(2000);
    opened.press(right, "r").type("by hand");
    opened.source.received = [{ ...asked, state: "answered" }];
    opened.source.refusal = new Error("Nothing was sent: it was answered already.");
    opened.press(enter);
    expect(opened.text).toContain("it was answered already");
    expect(opened.text).toContain("New request to bob");
    expect(opened.text).toContain("by hand");
    opened.source.refusal = undefined;
    opened.press(enter);
    expect(opened.source.sends).toEqual([{ to: BOB, text: "by hand" }]);
    expect(opened.source.answers).toEqual([]);
  });

  test("an unfinished text is not dropped by closing unawares", () => {
    const opened = new Opened().press(enter).type("unfinished").press(escape, escape);
    expect(opened.closed).toBe(0);
    expect(opened.text).toContain("Your text to bob is unfinished");
    opened.press(down, escape);
    expect(opened.closed).toBe(0);
    expect(opened.press(escape).closed).toBe(1);
  });

  test("a pasted text goes whole, however long", () => {
    const text = Array.from({ length: 50 }, (_, at) => `line ${String(at)}`).join("\n");
    const opened = new Opened().press(enter, `\u001b[200~${text}\u001b[201~`, escape, enter);
    opened.press(enter);
    expect(opened.source.sends).toEqual([{ to: BOB, text }]);
  });

  test("what is pasted is at work in no terminal, and goes as it is", () => {
    const pasted = "a\u007fb\u009b2Jc\u202ed";
    const opened = new Opened().press(enter, `\u001b[200~${pasted}\u001b[201~`);
    expect(opened.text).toContain("ab2Jcd");
    opened.press(enter);
    expect(opened.source.sends).toEqual([{ to: BOB, text: pasted }]);
  });

  test("shows the cursor's line however small the terminal", () => {
    const opened = new Opened();
    opened.height = 8;
    opened.press(enter);
    for (let at = 0; at < 9; at++) opened.type(`line ${String(at)}`).press(shiftEnter);
    expect(opened.type("here").text).toContain("here");
  });
});

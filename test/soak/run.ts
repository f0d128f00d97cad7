/** `npm run soak`: a long soak, or any other: `-- --seed 7 --sessions 4 --mails 200`. */
import { parseArgs } from "node:util";
import { soak } from "./soak.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 32)) },
    sessions: { type: "string", default: "8" },
    mails: { type: "string", default: "1000" },
    /** A folder to keep all files in when something is wrong. */
    keep: { type: "string" },
  },
});
const options = {
  seed: Number(values.seed),
  sessions: Number(values.sessions),
  mails: Number(values.mails),
};
if (!(Number.isInteger(options.seed) && options.sessions >= 2 && options.mails >= 1)) {
  console.error("--seed takes an integer, --sessions at least 2, --mails at least 1");
  process.exit(2);
}
console.log(`seed ${options.seed}: ${options.mails} mails between ${options.sessions} sessions`);
const report = await soak(options, {
  ...(values.keep === undefined ? {} : { keep: values.keep }),
  onProgress: (tried, of) => {
    if (tried % Math.ceil(of / 20) === 0) console.log(`${tried} of ${of} mails`);
  },
});
console.table(report.table);
console.table([report.blows]);
console.log(`seed ${options.seed}, ${(report.milliseconds / 1000).toFixed(1)} s`);
for (const complaint of report.complaints) console.error(`✗ ${complaint}`);
console.log(report.complaints.length === 0 ? "No mail was lost or doubled." : "The soak failed.");
process.exitCode = report.complaints.length === 0 ? 0 : 1;

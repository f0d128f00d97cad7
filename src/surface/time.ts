/** A time in ms since 1970 by the clock on the wall: `2026-11-30` and `14:05`. */
export function localTime(at: number): [day: string, time: string] {
  const date = new Date(at);
  const day = [String(date.getFullYear()), two(date.getMonth() + 1), two(date.getDate())];
  return [day.join("-"), `${two(date.getHours())}:${two(date.getMinutes())}`];
}

function two(number: number): string {
  return String(number).padStart(2, "0");
}

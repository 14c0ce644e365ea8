/** Offsets of time zones from UTC in ms, by the database of the machine. */

/** `null`: the machine knows no such zone. */
export function zoneOffset(timeZone: string): ((instantMs: number) => number) | null {
  try {
    const format = new Intl.DateTimeFormat("en-US", { timeZone, timeZoneName: "longOffset" });
    return (instantMs) => {
      const text = format.formatToParts(instantMs).find(({ type }) => type === "timeZoneName")?.value ?? "";
      const [, sign = "+", hours = "0", minutes = "0"] = /GMT([+-])(\d\d):(\d\d)/.exec(text) ?? [];
      return (sign === "-" ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
    };
  } catch {
    return null;
  }
}

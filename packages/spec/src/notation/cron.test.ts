import { describe, expect, it } from "vitest";
import { readCron, writeCron } from "./cron.ts";

const timesOf = (text: string) => {
  const reading = readCron(text);
  if (!reading.ok) throw new Error(reading.message);
  return reading.value;
};

describe("cron expressions", () => {
  it.each([
    ["0 3 * * *", { minutes: [0], hours: [3] }],
    [
      "*/20 8-18/5 1,15 jan-MAR mon-fri",
      {
        minutes: [0, 20, 40],
        hours: [8, 13, 18],
        daysOfMonth: [1, 15],
        months: [1, 2, 3],
        daysOfWeek: [1, 2, 3, 4, 5],
      },
    ],
    ["5/25 * * * 7", { minutes: [5, 30, 55], daysOfWeek: [0] }],
    ["0 0 * * 5-7", { daysOfWeek: [0, 5, 6] }],
    ["@weekly", { minutes: [0], hours: [0], daysOfWeek: [0] }],
    ["@hourly", { minutes: [0] }],
    ["0 0 31 12 sun", { daysOfMonth: [31], months: [12], daysOfWeek: [0] }],
  ])("%s", (text, expected) => expect(timesOf(text)).toMatchObject(expected));

  it.each(["0 3 * * *", "0,20,40 8,13,18 1,15 1-3 1-5", "* * * * *", "59 23 31 12 0,6"])(
    "%s is written as it is read",
    (text) => expect(writeCron(timesOf(text))).toBe(text),
  );

  it.each([
    ["", "five fields"],
    [3, "five fields"],
    ["0 3 * *", "five fields"],
    ["60 3 * * *", "minute from 0 to 59"],
    ["0 24 * * *", "hour from 0 to 23"],
    ["0 0 0 * *", "day of the month from 1 to 31"],
    ["0 0 * * 8", "day of the week from 0 to 6"],
    ["0 0 32 * *", 'day of the month from 1 to 31, got "32"'],
    ["0 0 * 13 *", "month from 1 to 12"],
    ["0 5-3 * * *", "From value is larger than to value: '5-3'"],
    ["30-10 * * * *", "larger"],
    ["0 0 * * fri-mon", "larger"],
    ["0 0 * * 7-1", "larger"],
    ["0 0 * * 1-8", "day of the week from 0 to 6, or 7 for Sunday"],
    ["0 0 * * 8-1", "larger"],
    ["0 1-3-5 * * *", "illegal range: '1-3-5'"],
    ["*/0 * * * *", "illegal stepping"],
    ["*/2/3 * * * *", "illegal stepping"],
    ["*/1e1 * * * *", 'got "*/1e1"'],
    ["a * * * *", 'got "a"'],
    ["1,,2 * * * *", 'got "1,,2"'],
    ["0 0 * * 7/2", "at least one day of the week"],
    ["0 0 L * *", 'got "L"'],
    ["0 0 15W * *", 'got "15W"'],
    ["0 0 * * 5#2", 'got "5#2"'],
    ["? * * * *", 'got "?"'],
    ["@reboot", "not supported"],
    ["@often", "must be a cron expression"],
  ])("%s is refused", (text, message) => {
    const reading = readCron(text);
    expect(reading.ok ? "" : reading.message).toContain(message);
  });
});

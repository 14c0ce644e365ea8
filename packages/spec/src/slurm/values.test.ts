import { describe, expect, it } from "vitest";
import { readBegin } from "./begin-times.ts";
import { patternText } from "./job-command.ts";
import { slurmOptions } from "./options.ts";
import { honours } from "./honour.ts";
import { readArray, readNodes, readSlurmMemory, readTimeLimit } from "./slurm-values.ts";
import { readText, utcClock } from "./testing/reading-text.ts";
import { writeInstant } from "../notation/instants.ts";

const MINUTE_MS = 60_000;
const script = (...lines: readonly string[]): string => ["#!/bin/bash", ...lines, "true", ""].join("\n");

describe("values of sbatch", () => {
  // Checked against `sbatch --test-only -vv` of Slurm 22.05.
  it.each([
    ["90", 90],
    ["90:30", 91],
    ["1:30:00", 90],
    ["2-0", 2_880],
    ["1-2:3", 1_563],
    ["1-00:00:01", 1_441],
    ["0:30", 1],
    ["0-0:0:5", 1],
    ["1:60", 2],
  ])("reads the time limit %s as %d minutes", (text, minutes) => {
    expect(readTimeLimit(text)).toEqual({ ok: true, value: minutes * MINUTE_MS });
  });

  it.each(["0", "UNLIMITED", "infinite", "-1"])("reads the time limit %s as unlimited", (text) => {
    expect(readTimeLimit(text)).toEqual({ ok: true, value: null });
  });

  it.each(["2h", "1:2:3:4", "1-00:00:00:00", "", "10:00;"])("refuses the time limit %j", (text) => {
    expect(readTimeLimit(text).ok).toBe(false);
  });

  it.each([
    ["4000", 4_000],
    ["16GB", 16_384],
    ["100K", 1],
    ["4g", 4_096],
    ["1T", 1_048_576],
  ])("reads %s as %d MiB", (text, mib) => {
    expect(readSlurmMemory(text)).toEqual({ ok: true, value: mib });
  });

  it.each(["1.5G", "4x", "4GiB", "G"])("refuses the memory %s", (text) => {
    expect(readSlurmMemory(text).ok).toBe(false);
  });

  // The clock of the test: Wednesday, 6 January 2027, 10:00.
  it.each([
    ["16:00", "2027-01-06T16:00:00Z"],
    ["03:00", "2027-01-07T03:00:00Z"],
    ["5:00AM", "2027-01-07T05:00:00Z"],
    ["10:00pm", "2027-01-06T22:00:00Z"],
    ["midnight", "2027-01-07T00:00:00Z"],
    ["noon", "2027-01-06T12:00:00Z"],
    ["fika", "2027-01-06T15:00:00Z"],
    ["teatime", "2027-01-06T16:00:00Z"],
    ["today", "2027-01-06T00:00:00Z"],
    ["tomorrow", "2027-01-07T00:00:00Z"],
    ["16:00 tomorrow", "2027-01-07T16:00:00Z"],
    ["now", "2027-01-06T10:00:00Z"],
    ["now+90", "2027-01-06T10:01:30Z"],
    ["now + 3 hours", "2027-01-06T13:00:00Z"],
    ["now+2days", "2027-01-08T10:00:00Z"],
    ["now+1week", "2027-01-13T10:00:00Z"],
    ["010230", "2030-01-02T00:00:00Z"],
    ["01/02", "2028-01-02T00:00:00Z"],
    ["12.25.30", "2030-12-25T00:00:00Z"],
    ["12/24 10:00", "2027-12-24T10:00:00Z"],
    ["01/02/30-04:05", "2030-01-02T04:05:00Z"],
    ["2030-01-02T03:04:05", "2030-01-02T03:04:05Z"],
    ["2030-01-02", "2030-01-02T00:00:00Z"],
  ])("reads the start %s as %s", (text, instant) => {
    const reading = readBegin(text, utcClock);
    expect(reading.ok ? writeInstant(reading.value) : reading.message).toBe(instant);
  });

  it.each(["4pm", "elevenses", "2030-13-02", "2030-02-30", "today+1hour", "16:00+1day", "25:00"])(
    "refuses the start %s",
    (text) => {
      expect(readBegin(text, utcClock).ok).toBe(false);
    },
  );

  it.each([
    ["1-10:3", [1, 4, 7, 10], null],
    ["0-7:2,9,11-12%3", [0, 2, 4, 6, 9, 11, 12], 3],
    ["3,1,3", [1, 3], null],
    ["1-3%0", [1, 2, 3], null],
  ])("reads the array %s", (text, indexes, atOnce) => {
    expect(readArray(text)).toEqual({ ok: true, value: { indexes, atOnce } });
  });

  it.each(["a", "5-1", "1-3:0", "1%2%3", "", "0-99999999"])("refuses the array %j", (text) => {
    expect(readArray(text).ok).toBe(false);
  });

  it("takes the minimum of a range of nodes", () => {
    expect(readNodes("2-8")).toEqual({ ok: true, value: { min: 2, isRange: true } });
    expect(readNodes("2k")).toEqual({ ok: true, value: { min: 2_048, isRange: false } });
    expect(readNodes("4-2").ok).toBe(false);
  });

  it("writes file patterns as words of the shell", () => {
    expect(patternText("a b/%x-%5j_$HOME`x`%%.out", false)).toBe(
      "\"a b/${SLURM_JOB_NAME}-$(printf '%05d' $SLURM_JOB_ID)_\\$HOME\\`x\\`%.out\"",
    );
    expect(patternText(String.raw`\%j.out`, false)).toBe("%j.out");
    expect(patternText("%A_%a", false)).toBe('"${SLURM_JOB_ID}_4294967294"');
  });
});

describe("variables of the submitter", () => {
  it("override the script, and are reported apart", () => {
    const { document, ignored, honoured, fromEnvironment } = readText(script("#SBATCH --time=10", "#SBATCH -n 2"), {
      SBATCH_TIMELIMIT: "20",
      SBATCH_PARTITION: "debug",
      SBATCH_EXCLUSIVE: "",
      SBATCH_NO_REQUEUE: "0",
    });
    expect(document["walltime"]).toBe("20m");
    expect(honoured.map(({ directive }) => directive)).toEqual(["-n 2"]);
    expect(ignored).toEqual([
      { directive: "--time=10", line: 2, reason: "is overridden by SBATCH_TIMELIMIT=20 in the environment" },
    ]);
    expect(fromEnvironment.map(({ directive }) => directive)).toEqual([
      "SBATCH_EXCLUSIVE",
      "SBATCH_PARTITION=debug",
      "SBATCH_TIMELIMIT=20",
    ]);
  });
});

describe("the table of options", () => {
  it("has code for each option that it says is honoured, and a reason for every other", () => {
    const stated = slurmOptions.filter(({ becomes }) => becomes !== undefined).map(({ long }) => long);
    expect(stated.toSorted()).toEqual(Object.keys(honours).toSorted());
    expect(slurmOptions.filter(({ becomes, ignored }) => becomes === undefined && ignored === undefined)).toEqual([]);
  });

  it("names every option and every letter once", () => {
    const names = slurmOptions.flatMap(({ long, short = long }) => [long, ...(short === long ? [] : [short])]);
    expect(new Set(names).size).toBe(names.length);
  });
});

/** Cron expressions in words, if a few words are enough. */

const DAYS = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];
const HOURS_NAMED_MAX = 4;

/**
 * Words such as `every day at 01:00`, `every Monday at 06:00`, `every 2 hours`; `null`: words would not be clearer than
 * the expression.
 */
export function cronText(cron: string): string | null {
  const [minute = "", hour = "", dayOfMonth = "", month = "", weekday = ""] = cron.split(" ");
  if (dayOfMonth !== "*" || month !== "*" || !/^\d{1,2}$/.test(minute)) return null;
  const days = weekday === "*" ? "every day" : weekdaysText(weekday);
  const two = (value: string): string => value.padStart(2, "0");
  if (days === null) return null;
  if (hour === "*") return days === "every day" ? `every hour at minute ${Number(minute)}` : null;
  const hours = hour.split(",");
  if (!hours.every((each) => /^\d{1,2}$/.test(each))) return null;
  const step = stepOf(hours.map(Number));
  if (step !== null && hours.length > HOURS_NAMED_MAX && days === "every day")
    return `every ${step} hours from ${two(hours[0] ?? "")}:${two(minute)}`;
  if (hours.length > HOURS_NAMED_MAX) return null;
  return `${days} at ${hours.map((each) => `${two(each)}:${two(minute)}`).join(", ")}`;
}

function weekdaysText(weekday: string): string | null {
  if (weekday === "1-5" || weekday === "1,2,3,4,5") return "Monday to Friday";
  if (!/^[0-7](?:,[0-7])*$/.test(weekday)) return null;
  const names = weekday.split(",").map((day) => DAYS[Number(day) % DAYS.length] ?? "");
  return `every ${names.join(" and ")}`;
}

/** The step between due times, if it is the same all day and over midnight; `null`: it is not. */
function stepOf(hours: readonly number[]): number | null {
  const [first = 0, second] = hours;
  if (second === undefined) return null;
  const step = second - first;
  const isEven = hours.every((hour, index) => hour === first + index * step) && step * hours.length === 24;
  return isEven ? step : null;
}

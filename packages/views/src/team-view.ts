/** Teams by name. The usage of each includes all teams below it. */
import {
  accountOf,
  decayedUsageOf,
  teamEntitlements,
  teamHolds,
  teamHoldsInAll,
  teamHoldsOfFamily,
} from "@headroom/explain";
import type { AccountView } from "@headroom/explain";
import type { Engine } from "@headroom/engine";
import type { Team as EngineTeam } from "@headroom/model";
import { PAGE_ITEMS_DEFAULT, teamName } from "@headroom/protocol";
import type { Page, PageRequest, Team } from "@headroom/protocol";
import { fairShares } from "./fair-shares.ts";
import { refusedCursor } from "./page-cursor.ts";
import { isReadable, type ReadableTeams } from "./readable-teams.ts";
import { teamSpecResource } from "./wire-forms.ts";

/** Prefix before the name in a cursor. No team name and no other list's cursor begins with it. */
const CURSOR_MARK = "-";

/** The cursor contains the name of the last team shown. That team may have been removed since. */
export function teamList(engine: Engine, page: PageRequest, readable: ReadableTeams = null): Page<Team> {
  const limit = page.limit ?? PAGE_ITEMS_DEFAULT;
  const after = nameIn(page.cursor ?? null);
  const teams = [...engine.state.teams.values()]
    .filter(({ name }) => name > after && isReadable(readable, name))
    .toSorted((left, right) => (left.name < right.name ? -1 : 1));
  const shares = fairShares(engine);
  const items = teams.slice(0, limit).map((team) => {
    const fairShare = shares.get(team.name);
    return { ...teamResource(engine, team), ...(fairShare === undefined ? {} : { fairShare }) };
  });
  const last = items.at(-1);
  return { items, nextCursor: teams.length > limit && last !== undefined ? `${CURSOR_MARK}${last.name}` : null };
}

function nameIn(cursor: string | null): string {
  if (cursor === null) return "";
  const name = teamName.safeParse(cursor.slice(CURSOR_MARK.length));
  if (!cursor.startsWith(CURSOR_MARK) || !name.success) throw refusedCursor(cursor);
  return name.data;
}

function teamResource(engine: Engine, team: EngineTeam): Team {
  const held = { ...Object.fromEntries(teamHolds(engine, team.name)), ...heldOfFamilies(engine, team) };
  const account = accountOf(engine, team.name);
  const decayedUsage = decayedUsageOf(engine, team.name);
  const entitlement = teamEntitlements(engine, team.name);
  return {
    ...teamSpecResource(team),
    held,
    heldInAll: teamHoldsInAll(engine, team.name),
    ...(account === null ? {} : { account: accountResource(account) }),
    ...(entitlement === null ? {} : { entitlement: Object.fromEntries(entitlement) }),
    ...(decayedUsage === null ? {} : { decayedUsage }),
  };
}

/** Number of accelerators that the team holds, for each family that its quotas name. */
function heldOfFamilies(engine: Engine, { name, limit, guarantee = {} }: EngineTeam): Record<string, number> {
  const families = new Set(
    [...engine.state.pools.values()].flatMap(({ acceleratorFamily }) => acceleratorFamily ?? []),
  );
  const stated = [...new Set([...Object.keys(limit), ...Object.keys(guarantee)])].filter((each) => families.has(each));
  const held = stated.map((family) => [family, teamHoldsOfFamily(engine, name, family)] as const);
  return Object.fromEntries(held.filter(([, count]) => count > 0));
}

const accountResource = ({ forecast, ...account }: AccountView): NonNullable<Team["account"]> =>
  forecast === null ? account : { ...account, forecast };

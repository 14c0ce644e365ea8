/** Offers of price feeds by the price of a useful hour: prices over time, a table, rows without a trusted price, own against rent, and a CSV file. */
import type { Offers } from "@headroom/protocol";
import { plural } from "@headroom/views";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { offersQuery } from "../../data/queries.ts";
import { download } from "../../format/download.ts";
import { dayText } from "../../format/moment.ts";
import { Button } from "../../parts/button.tsx";
import { Segments, Select } from "../../parts/controls.tsx";
import { NumberTable } from "../../parts/number-table.tsx";
import { Page, Panel } from "../../parts/page.tsx";
import { Empty, Failure, Loading, StaleNotice } from "../../parts/states.tsx";
import { TimeChart } from "../../parts/time-chart.tsx";
import type { ChartTone } from "../../parts/time-chart.tsx";
import {
  ageText,
  breakEvenText,
  checkpointText,
  offersCsv,
  percentText,
  placeText,
  priceLines,
  priceText,
  type Market,
} from "./offers-text.ts";

const markets = [
  { value: "all", label: "All" },
  { value: "on-demand", label: "On demand" },
  { value: "spot", label: "Spot" },
] as const;

const interruptions = [
  { value: "2", label: "Spot ends every 2 h" },
  { value: "10", label: "Spot ends every 10 h" },
  { value: "48", label: "Spot ends every 2 days" },
  { value: "168", label: "Spot ends every week" },
] as const;

const tones: readonly ChartTone[] = ["accent", "run", "good", "wait", "stop", "bad", "idle"];
const ROWS_SHOWN = 50;
const LINES_SHOWN = 6;
const ANY = "";

export function OffersPage(): ReactElement {
  const [accelerator, setAccelerator] = useState(ANY);
  const [market, setMarket] = useState<Market>("all");
  const [everyHours, setEveryHours] = useState("10");
  const question = { accelerator: accelerator || undefined, interruptionEveryHours: Number(everyHours) };
  const { data, error, refetch } = useQuery(offersQuery(useClient(), question));
  const accelerators = (data?.accelerators ?? []).map((name) => ({ value: name, label: name }));
  const toolbar = (
    <>
      <Select
        label="Accelerator"
        options={[{ value: ANY, label: "All accelerators" }, ...accelerators]}
        value={accelerator}
        onValue={setAccelerator}
      />
      <Segments label="Market" name="market" value={market} options={markets} onValue={setMarket} />
      <Select label="Interruptions" options={interruptions} value={everyHours} onValue={setEveryHours} />
    </>
  );
  const actions =
    data === undefined ? undefined : (
      <Button onClick={() => download("offers.csv", offersCsv(data))}>Download CSV</Button>
    );
  return (
    <Page title="Offers" layout="flow" summary={summaryOf(data)} toolbar={toolbar} actions={actions}>
      {data === undefined ? (
        error === null ? (
          <Loading label="Loading the offers" />
        ) : (
          <Failure error={error} onRetry={() => void refetch()} />
        )
      ) : (
        <>
          {error === null ? null : <StaleNotice error={error} />}
          <Problems problems={data.problems} />
          {data.feeds.length === 0 && data.options.length === 0 ? (
            <NoFeed />
          ) : (
            <Compared offers={data} market={market} />
          )}
        </>
      )}
    </Page>
  );
}

function summaryOf(offers: Offers | undefined): string {
  const [best] = offers?.items ?? [];
  if (offers === undefined || best === undefined) return "Offers of price feeds by the price of a useful hour";
  const cheapest = `${placeText(best)} ${best.accelerator} ${best.market} is cheapest: ${priceText(best.usdPerUsefulHour)} for a useful accelerator-hour`;
  const unpriced = `${plural(offers.unpricedCount, "row")} without a trusted price`;
  return `${cheapest}; ${plural(offers.offerCount, "offer")}, ${unpriced}`;
}

function Problems({ problems }: { readonly problems: readonly string[] }): ReactElement | null {
  if (problems.length === 0) return null;
  return (
    <ul className="mx-4 mb-3 rounded-md border border-wait/40 bg-wait-soft px-4 py-2 md:mx-6">
      {problems.map((problem) => (
        <li key={problem}>{problem}</li>
      ))}
    </ul>
  );
}

function NoFeed(): ReactElement {
  return (
    <Empty icon="offers" title="There is no price feed">
      <p>
        Put CSV feeds of prices, and documents of kind tco, in the folder offers/ of the state directory. Check a feed
        first:
      </p>
      <p className="mt-2 font-mono">headroom price check examples/cost/feed.csv</p>
    </Empty>
  );
}

interface ComparedProps {
  readonly offers: Offers;
  readonly market: Market;
}

function Compared({ offers, market }: ComparedProps): ReactElement {
  return (
    <div className="flex max-w-7xl flex-col gap-4 px-4 pb-6 md:px-6">
      <PriceChart offers={offers} market={market} />
      <OfferTable offers={offers} market={market} />
      <UnpricedList offers={offers} />
      <Ownership offers={offers} />
      <p className="text-xs text-ink-2">
        A useful hour counts interruptions, checkpoints at Young's interval, restarts, egress and speed.{" "}
        <span className="font-mono">headroom offers compare --accelerator H100 --egress 400 --speed Alpha=0.95</span>{" "}
        has all conditions.
      </p>
    </div>
  );
}

function PriceChart({ offers, market }: ComparedProps): ReactElement | null {
  const { atMs, series } = priceLines(offers.history, market, LINES_SHOWN);
  if (atMs.length < 2) return null;
  return (
    <Panel title="Lowest price by day">
      <TimeChart
        label="Lowest price by day"
        unit="US dollars an accelerator-hour"
        atMs={atMs}
        series={series.map(({ name, usd }, index) => ({
          name,
          values: usd,
          tone: tones[index % tones.length] as ChartTone,
          kind: "line",
          isDashed: name.endsWith("spot"),
        }))}
        text={priceText}
        timeText={dayText}
        endLabel={dayText(atMs.at(-1) ?? 0)}
      />
    </Panel>
  );
}

function OfferTable({ offers, market }: ComparedProps): ReactElement {
  const items = offers.items.filter((each) => market === "all" || each.market === market);
  return (
    <Panel
      title="Offers"
      aside={items.length > ROWS_SHOWN ? `${ROWS_SHOWN} of ${plural(items.length, "offer")}` : undefined}
    >
      {items.length === 0 ? (
        <p className="px-4 py-3 text-ink-2">No offer has a trusted price.</p>
      ) : (
        <NumberTable
          label="Offers"
          columns={[
            "Offer",
            "Per useful hour",
            "Per hour",
            "Market",
            "Accelerator",
            "Useful",
            "Checkpoint",
            "Age of price",
          ]}
          rows={items
            .slice(0, ROWS_SHOWN)
            .map((offer) => [
              placeText(offer),
              priceText(offer.usdPerUsefulHour),
              priceText(offer.usdPerHour),
              offer.market,
              offer.accelerator,
              percentText(offer.usefulPart),
              checkpointText(offer.checkpointEveryHours),
              ageText(offer.readAtMs, offers.answeredAtMs),
            ])}
        />
      )}
    </Panel>
  );
}

function UnpricedList({ offers: { unpriced, unpricedCount } }: { readonly offers: Offers }): ReactElement | null {
  if (unpriced.length === 0) return null;
  return (
    <Panel title="Prices that are not trusted" aside={plural(unpricedCount, "row")}>
      <ul className="divide-y divide-line px-4 py-1">
        {unpriced.slice(0, ROWS_SHOWN).map((row) => (
          <li key={`${row.feed}:${row.line}`} className="py-2">
            <span className="font-medium">{`${placeText(row)}, ${row.accelerator}`}</span>{" "}
            <span className="font-mono text-xs text-ink-3">{`${row.feed}:${row.line}`}</span>
            {row.defects.map((defect) => (
              <p key={`${defect.class} ${defect.detail}`} className="text-ink-2">
                <span className="font-mono">{defect.class}</span>: {defect.detail}.
              </p>
            ))}
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function Ownership({ offers: { options, breakEvens } }: { readonly offers: Offers }): ReactElement | null {
  if (options.length === 0) return null;
  return (
    <Panel title="Own, lease or rent">
      <NumberTable
        label="Own, lease or rent"
        columns={["Option", "Document", "Source", "A year", "Per hour of use", "Per useful hour"]}
        rows={options.map((option) => [
          option.name,
          option.document,
          option.source,
          `$${Math.round(option.usdPerYear).toLocaleString("en-US")}`,
          priceText(option.usdPerHour),
          priceText(option.usdPerUsefulHour),
        ])}
      />
      <ul className="px-4 pb-3">
        {breakEvens.map((each) => (
          <li key={`${each.document} ${each.option} ${each.against}`}>{breakEvenText(each)}</li>
        ))}
      </ul>
    </Panel>
  );
}

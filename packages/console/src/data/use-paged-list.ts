/**
 * Lists of any length, read page by page with cursors. Pages load in order as the user scrolls, and only visible pages
 * are fetched again after changes. So the cost of a queue of 50,000 depends only on the visible part.
 */
import type { Page } from "@headroom/protocol";
import { useQueries, useQueryClient, type UseQueryResult } from "@tanstack/react-query";
import { useCallback, useMemo, useState } from "react";
import { joinPages } from "./joined-pages.ts";

/** Maximum page size of the API. */
const PAGE_LIMIT = 500;

export interface PagedListOptions<Item, Answer extends Page<Item>> {
  readonly queryKey: readonly string[];
  readonly fetchPage: (
    page: { readonly cursor: string | null; readonly limit: number },
    signal: AbortSignal,
  ) => Promise<Answer>;
  readonly idOf: (item: Item) => string;
  /** Loads all pages. Filters that only the console can apply need this. */
  readonly isAllWanted?: boolean;
}

export interface PagedList<Item, Answer> {
  readonly items: readonly Item[];
  /** The newest answer for the first page, which has the totals. */
  readonly head: Answer | undefined;
  readonly isComplete: boolean;
  readonly error: unknown;
  readonly retry: () => void;
  /** Called with the indexes in `items` of the visible items. */
  readonly show: (first: number, last: number) => void;
}

/**
 * Returns the same array until one of its elements is fetched again, so that components do not render without a change.
 */
function useSame<T>(list: readonly T[]): readonly T[] {
  const [kept, keep] = useState(list);
  const isSame = kept.length === list.length && kept.every((element, index) => element === list[index]);
  if (!isSame) keep(list);
  return isSame ? kept : list;
}

interface Extent {
  readonly key: string;
  readonly pageCount: number;
  readonly firstPage: number;
  readonly lastPage: number;
}

export function usePagedList<Item, Answer extends Page<Item>>(
  options: PagedListOptions<Item, Answer>,
): PagedList<Item, Answer> {
  const { queryKey, idOf, isAllWanted = false } = options;
  const queryClient = useQueryClient();
  const key = JSON.stringify(queryKey);
  const [kept, setExtent] = useState<Extent>({ key, pageCount: 1, firstPage: 0, lastPage: 0 });
  const extent = kept.key === key ? kept : { key, pageCount: 1, firstPage: 0, lastPage: 0 };

  const results = usePages(options, extent);
  const pages = leadingPages(results);
  const next = pages.at(-1)?.nextCursor;
  const isComplete = pages.length === results.length && next === null;
  const isMoreWanted = isAllWanted || extent.lastPage >= pages.length - 1;
  if (isMoreWanted && pages.length === extent.pageCount && typeof next === "string") {
    setExtent({ ...extent, pageCount: extent.pageCount + 1 });
  }

  const samePages = useSame(pages);
  const joined = useMemo(
    () =>
      joinPages(
        samePages.map(({ items }) => items),
        idOf,
      ),
    [samePages, idOf],
  );
  const show = useCallback(
    (first: number, last: number) => {
      const firstPage = joined.pageOf[first] ?? 0;
      const lastPage = joined.pageOf[last] ?? firstPage;
      setExtent((now) => {
        const same = now.key === key && now.firstPage === firstPage && now.lastPage === lastPage;
        return same ? now : { ...(now.key === key ? now : extent), firstPage, lastPage };
      });
    },
    [joined, key], // oxlint-disable-line react/exhaustive-deps -- of `extent` only the key matters here.
  );
  return {
    items: joined.items,
    head: pages[0],
    isComplete,
    error: results.find(({ error }) => error !== null)?.error ?? null,
    retry: () => void queryClient.invalidateQueries({ queryKey }),
    show,
  };
}

function usePages<Item, Answer extends Page<Item>>(
  { queryKey, fetchPage }: PagedListOptions<Item, Answer>,
  { pageCount, firstPage, lastPage }: Extent,
): readonly UseQueryResult<Answer>[] {
  const queryClient = useQueryClient();
  const answerOf = (page: number): Answer | undefined => queryClient.getQueryData<Answer>([...queryKey, page]);
  return useQueries({
    queries: Array.from({ length: pageCount }, (_, page) => ({
      queryKey: [...queryKey, page] as readonly unknown[],
      queryFn: ({ signal }: { readonly signal: AbortSignal }): Promise<Answer> => {
        const cursor = page === 0 ? null : (answerOf(page - 1)?.nextCursor ?? null);
        return fetchPage({ cursor, limit: PAGE_LIMIT }, signal);
      },
      // A page that is not visible is fetched only once, because the next page needs its cursor.
      enabled: (page >= firstPage && page <= lastPage) || answerOf(page) === undefined,
    })),
  });
}

/** Answers of the pages before the first missing page. */
function leadingPages<Answer>(results: readonly UseQueryResult<Answer>[]): readonly Answer[] {
  const missing = results.findIndex(({ data }) => data === undefined);
  return (missing < 0 ? results : results.slice(0, missing)).map(({ data }) => data as Answer);
}

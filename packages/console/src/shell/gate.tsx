/** Shown before the first page: that the console connects, the sign-in, or the reason why neither works. */
import { ProblemError } from "@headroom/protocol";
import { QueryClient, QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useState } from "react";
import type { ReactElement } from "react";
import { connect } from "../connect/connect.ts";
import { SessionContext, type Session } from "../connect/session.ts";
import { AnnouncerProvider } from "../parts/announcer.tsx";
import { createConsoleRouter } from "../routes/router.tsx";
import { Login } from "./login.tsx";
import { Unreachable } from "./unreachable.tsx";

type GateEntry =
  | { readonly kind: "connecting" }
  | { readonly kind: "connected"; readonly session: Session }
  | { readonly kind: "signedOut" }
  | { readonly kind: "failed"; readonly error: unknown };

const RETRIES_MAX = 2;

function newQueryClient(onUnauthorized: () => void): QueryClient {
  return new QueryClient({
    defaultOptions: {
      queries: {
        refetchOnWindowFocus: false,
        refetchOnReconnect: false,
        networkMode: "always",
        retry: (failureCount, error) => {
          if (error instanceof ProblemError && error.code === "unauthorized") onUnauthorized();
          return error instanceof ProblemError && error.problem.status >= 500 && failureCount < RETRIES_MAX;
        },
      },
      mutations: { networkMode: "always" },
    },
  });
}

export function Gate({ isDemo }: { readonly isDemo: boolean }): ReactElement {
  const [entry, setEntry] = useState<GateEntry>({ kind: "connecting" });
  const [attempt, setAttempt] = useState(0);
  const signOut = useCallback(() => setEntry({ kind: "signedOut" }), []);
  const queryClient = useMemo(() => newQueryClient(signOut), [signOut]);
  const router = useMemo(() => createConsoleRouter(isDemo), [isDemo]);
  useEffect(() => {
    let session: Session | null = null;
    let isGone = false;
    const hooks = { onGap: () => void queryClient.invalidateQueries(), onUnauthorized: signOut };
    connect(isDemo, hooks).then(
      (connected) => {
        if (isGone) return;
        session = connected;
        void connected.feed.run();
        setEntry({ kind: "connected", session: connected });
      },
      (error: unknown) => {
        if (isGone) return;
        const isSignedOut = error instanceof ProblemError && error.code === "unauthorized";
        setEntry(isSignedOut ? { kind: "signedOut" } : { kind: "failed", error });
      },
    );
    return () => {
      isGone = true;
      session?.feed.stop();
    };
  }, [isDemo, attempt, queryClient, signOut]);
  const retry = (): void => {
    setEntry({ kind: "connecting" });
    setAttempt((count) => count + 1);
  };
  switch (entry.kind) {
    case "connecting":
      return <Opening isDemo={isDemo} />;
    case "signedOut":
      return <Login onRetry={retry} />;
    case "failed":
      return <Unreachable error={entry.error} onRetry={retry} />;
    case "connected":
      return (
        <QueryClientProvider client={queryClient}>
          <SessionContext value={entry.session}>
            <AnnouncerProvider>
              <RouterProvider router={router} />
            </AnnouncerProvider>
          </SessionContext>
        </QueryClientProvider>
      );
  }
}

function Opening({ isDemo }: { readonly isDemo: boolean }): ReactElement {
  return (
    <main className="grid h-dvh place-items-center text-ink-2">
      <p role="status">{isDemo ? "Simulating the first days of a fleet …" : "Connecting to the control plane …"}</p>
    </main>
  );
}

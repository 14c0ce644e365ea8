/** Routes of the console. Pages are loaded on the first visit; the frame around them is loaded at once. */
import {
  createBrowserHistory,
  createRootRoute,
  createRoute,
  createRouter,
  lazyRouteComponent,
  type RouterHistory,
} from "@tanstack/react-router";
import { Loading } from "../parts/states.tsx";
import { Shell } from "../shell/shell.tsx";
import { NotFound } from "../shell/not-found.tsx";
import { RouteFailure } from "../shell/route-failure.tsx";
import {
  eventsSearch,
  fleetSearch,
  logsSearch,
  newWorkloadSearch,
  queueSearch,
  sizeSearch,
  whatIfSearch,
  workloadsSearch,
} from "./search-params.ts";

const root = createRootRoute({ component: Shell, notFoundComponent: NotFound });

const fleet = createRoute({
  getParentRoute: () => root,
  path: "/",
  validateSearch: fleetSearch,
  component: lazyRouteComponent(() => import("../pages/fleet/fleet-page.tsx"), "FleetPage"),
});
const queue = createRoute({
  getParentRoute: () => root,
  path: "/queue",
  validateSearch: queueSearch,
  component: lazyRouteComponent(() => import("../pages/queue/queue-page.tsx"), "QueuePage"),
});
const workloads = createRoute({
  getParentRoute: () => root,
  path: "/workloads",
  validateSearch: workloadsSearch,
  component: lazyRouteComponent(() => import("../pages/workloads/workloads-page.tsx"), "WorkloadsPage"),
});
const submit = createRoute({
  getParentRoute: () => root,
  path: "/workloads/new",
  validateSearch: newWorkloadSearch,
  component: lazyRouteComponent(() => import("../pages/submit/submit-page.tsx"), "SubmitPage"),
});
const workload = createRoute({
  getParentRoute: () => root,
  path: "/workloads/$workloadId",
  component: lazyRouteComponent(() => import("../pages/workload/workload-page.tsx"), "WorkloadPage"),
});
const teams = createRoute({
  getParentRoute: () => root,
  path: "/teams",
  component: lazyRouteComponent(() => import("../pages/teams/teams-page.tsx"), "TeamsPage"),
});
const calendar = createRoute({
  getParentRoute: () => root,
  path: "/calendar",
  component: lazyRouteComponent(() => import("../pages/calendar/calendar-page.tsx"), "CalendarPage"),
});
const policy = createRoute({
  getParentRoute: () => root,
  path: "/policy",
  component: lazyRouteComponent(() => import("../pages/policy/policy-page.tsx"), "PolicyPage"),
});
const whatIf = createRoute({
  getParentRoute: () => root,
  path: "/what-if",
  validateSearch: whatIfSearch,
  component: lazyRouteComponent(() => import("../pages/what-if/what-if-page.tsx"), "WhatIfPage"),
});
const waste = createRoute({
  getParentRoute: () => root,
  path: "/waste",
  component: lazyRouteComponent(() => import("../pages/waste/waste-page.tsx"), "WastePage"),
});
const size = createRoute({
  getParentRoute: () => root,
  path: "/size",
  validateSearch: sizeSearch,
  component: lazyRouteComponent(() => import("../pages/size/size-page.tsx"), "SizePage"),
});
const plan = createRoute({
  getParentRoute: () => root,
  path: "/plan",
  component: lazyRouteComponent(() => import("../pages/plan/plan-page.tsx"), "PlanPage"),
});
const cost = createRoute({
  getParentRoute: () => root,
  path: "/cost",
  component: lazyRouteComponent(() => import("../pages/cost/cost-page.tsx"), "CostPage"),
});
const offers = createRoute({
  getParentRoute: () => root,
  path: "/offers",
  component: lazyRouteComponent(() => import("../pages/offers/offers-page.tsx"), "OffersPage"),
});
const proposals = createRoute({
  getParentRoute: () => root,
  path: "/proposals",
  component: lazyRouteComponent(() => import("../pages/proposals/proposals-page.tsx"), "ProposalsPage"),
});
const access = createRoute({
  getParentRoute: () => root,
  path: "/access",
  component: lazyRouteComponent(() => import("../pages/access/access-page.tsx"), "AccessPage"),
});
const artifacts = createRoute({
  getParentRoute: () => root,
  path: "/artifacts",
  component: lazyRouteComponent(() => import("../pages/artifacts/artifacts-page.tsx"), "ArtifactsPage"),
});
const pipelines = createRoute({
  getParentRoute: () => root,
  path: "/pipelines",
  component: lazyRouteComponent(() => import("../pages/pipelines/pipelines-page.tsx"), "PipelinesPage"),
});
const pipelineRun = createRoute({
  getParentRoute: () => root,
  path: "/pipelines/$runId",
  component: lazyRouteComponent(() => import("../pages/pipelines/run-page.tsx"), "RunPage"),
});
const health = createRoute({
  getParentRoute: () => root,
  path: "/health",
  component: lazyRouteComponent(() => import("../pages/health/health-page.tsx"), "HealthPage"),
});
const endpoints = createRoute({
  getParentRoute: () => root,
  path: "/endpoints",
  component: lazyRouteComponent(() => import("../pages/endpoints/endpoints-page.tsx"), "EndpointsPage"),
});
const endpoint = createRoute({
  getParentRoute: () => root,
  path: "/endpoints/$workloadId",
  component: lazyRouteComponent(() => import("../pages/endpoints/endpoint-page.tsx"), "EndpointPage"),
});
const gateway = createRoute({
  getParentRoute: () => root,
  path: "/gateway",
  component: lazyRouteComponent(() => import("../pages/gateway/gateway-page.tsx"), "GatewayPage"),
});
const logs = createRoute({
  getParentRoute: () => root,
  path: "/logs",
  validateSearch: logsSearch,
  component: lazyRouteComponent(() => import("../pages/logs/logs-page.tsx"), "LogsPage"),
});
const events = createRoute({
  getParentRoute: () => root,
  path: "/events",
  validateSearch: eventsSearch,
  component: lazyRouteComponent(() => import("../pages/events/events-page.tsx"), "EventsPage"),
});

/**
 * The demo can be served from any folder of static files, so its addresses follow the `#`. The router's own hash
 * history would append the page's `?demo` to each address.
 */
const hashHistory = (): RouterHistory =>
  createBrowserHistory({
    parseLocation: () => {
      const href = window.location.hash.slice(1) || "/";
      const queryAt = href.indexOf("?");
      const [pathname, search] = queryAt < 0 ? [href, ""] : [href.slice(0, queryAt), href.slice(queryAt)];
      return { href, pathname, search, hash: "", state: window.history.state ?? {} };
    },
    createHref: (href) => `${window.location.pathname}${window.location.search}#${href}`,
  });

export function createConsoleRouter(isDemo: boolean) {
  return createRouter({
    routeTree: root.addChildren([
      fleet,
      queue,
      workloads,
      submit,
      workload,
      endpoints,
      endpoint,
      teams,
      calendar,
      policy,
      whatIf,
      waste,
      size,
      plan,
      cost,
      offers,
      artifacts,
      pipelines,
      pipelineRun,
      health,
      proposals,
      access,
      gateway,
      logs,
      events,
    ]),
    history: isDemo ? hashHistory() : createBrowserHistory(),
    defaultPreload: "intent",
    defaultPendingComponent: () => <Loading label="Loading the page" />,
    defaultErrorComponent: RouteFailure,
    scrollRestoration: false,
  });
}

declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof createConsoleRouter>;
  }
}

/** The gateway that the control plane knows. No event announces its figures, so they are polled while the page is shown. */
import { useQuery } from "@tanstack/react-query";
import type { ReactElement } from "react";
import { useClient } from "../../connect/session.ts";
import { gatewayQuery, statusQuery } from "../../data/queries.ts";
import { Page } from "../../parts/page.tsx";
import { Empty, Failure, Loading, StaleNotice } from "../../parts/states.tsx";
import { gatewaySummary, GatewayView } from "./gateway-view.tsx";

export function GatewayPage(): ReactElement {
  const client = useClient();
  const { data: status } = useQuery(statusQuery(client));
  const isKnown = status?.hasGateway !== false;
  const { data, error, refetch } = useQuery({ ...gatewayQuery(client), enabled: isKnown });
  return (
    <Page
      title="Gateway"
      layout="flow"
      summary={data === undefined ? "Inference behind one endpoint" : gatewaySummary(data)}
    >
      {!isKnown ? (
        <Empty icon="gateway" title="No gateway is configured">
          <p>
            Start the control plane with <code className="font-mono text-xs">--gateway URL --gateway-token FILE</code>,
            the gateway&apos;s admin address and the file with its token.
          </p>
        </Empty>
      ) : data === undefined ? (
        error === null ? (
          <Loading label="Loading the gateway" />
        ) : (
          <Failure error={error} onRetry={() => void refetch()} />
        )
      ) : (
        <>
          {error === null ? null : <StaleNotice error={error} />}
          <GatewayView overview={data} />
        </>
      )}
    </Page>
  );
}

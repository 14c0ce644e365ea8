/** Sends a message as mail through an SMTP server. */
import { readFileSync } from "node:fs";
import type { NotificationMessage } from "./message.ts";
import { titleOf } from "./formats.ts";
import type { MailReceiver } from "./rules.ts";

const SMTP_TIMEOUT_MS = 20_000;

/** The password is read for each mail, so that it can be replaced without a restart. */
const authOf = ({ user, passwordFile }: MailReceiver): object =>
  user === undefined || passwordFile === undefined
    ? {}
    : { auth: { user, pass: readFileSync(passwordFile, "utf8").trimEnd() } };

export async function sendMail(receiver: MailReceiver, message: NotificationMessage): Promise<void> {
  const { createTransport } = await import("nodemailer");
  const { protocol, hostname, port } = new URL(receiver.smtp);
  const isTls = protocol === "smtps:";
  const transport = createTransport({
    host: hostname.replace(/^\[(.*)\]$/, "$1"),
    port: port === "" ? (isTls ? 465 : 587) : Number(port),
    secure: isTls,
    ...authOf(receiver),
    connectionTimeout: SMTP_TIMEOUT_MS,
    greetingTimeout: SMTP_TIMEOUT_MS,
    socketTimeout: SMTP_TIMEOUT_MS,
    // A message may name neither files nor addresses of the control plane's machine.
    disableFileAccess: true,
    disableUrlAccess: true,
  });
  try {
    await transport.sendMail({
      from: receiver.from,
      to: [...receiver.to],
      subject: titleOf(message),
      text: `${message.sentence}\n`,
      headers: { "Auto-Submitted": "auto-generated" },
      // The same message keeps its id when it is sent again.
      messageId: `<headroom-${message.sequence}-${message.kinds[0] ?? "event"}@${receiver.from.split("@").at(-1) ?? "headroom"}>`,
    });
  } finally {
    transport.close();
  }
}

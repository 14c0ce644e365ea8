/** A self-signed certificate for tests of TLS. Nothing trusts it. */
import { writeFileSync } from "node:fs";
import path from "node:path";

const certificate = `-----BEGIN CERTIFICATE-----
MIIBgDCCASWgAwIBAgIUfUHYwb9I8XDG8wbvrIrEOpe57oIwCgYIKoZIzj0EAwIw
FDESMBAGA1UEAwwJbG9jYWxob3N0MCAXDTI2MTEyNzAxNDAwMloYDzIxMjYxMTAz
MDE0MDAyWjAUMRIwEAYDVQQDDAlsb2NhbGhvc3QwWTATBgcqhkjOPQIBBggqhkjO
PQMBBwNCAAT/gteW/4V63p9abi+p5RiGODL/A/jZzf6+NhVwUbYX2z1wxDbIfkkU
gQpdZMC0v9oSunmww9Z4qle134p8U87Io1MwUTAdBgNVHQ4EFgQULb5veyEoi3k9
prndSLHFN3kJzB4wHwYDVR0jBBgwFoAULb5veyEoi3k9prndSLHFN3kJzB4wDwYD
VR0TAQH/BAUwAwEB/zAKBggqhkjOPQQDAgNJADBGAiEAxBMzQUpCAfa9MpfKHzGQ
4ZXjqY7pW5D9b3Dp5VosIUkCIQChiECGsxCagmK8o9/AQL9pMnxhKK0582gxmNxS
zpKeiw==
-----END CERTIFICATE-----
`;
const key = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgRf+/WePiSye75rQl
TRPlH2TPbsSNgqCXzvLb8hZh/IuhRANCAAT/gteW/4V63p9abi+p5RiGODL/A/jZ
zf6+NhVwUbYX2z1wxDbIfkkUgQpdZMC0v9oSunmww9Z4qle134p8U87I
-----END PRIVATE KEY-----
`;

/** Writes certificate and key into the folder, and returns the field `tls` of gateway.yaml. */
export function tlsIn(folder: string): string {
  const paths = { certificate: path.join(folder, "certificate.pem"), key: path.join(folder, "key.pem") };
  writeFileSync(paths.certificate, certificate);
  writeFileSync(paths.key, key);
  return `tls: { certificate: ${paths.certificate}, key: ${paths.key} }\n`;
}

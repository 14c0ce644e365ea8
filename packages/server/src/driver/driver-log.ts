/** The log of the control plane. */
export interface DriverLog {
  info(message: string): void;
  warn(message: string): void;
  error(message: string): void;
}

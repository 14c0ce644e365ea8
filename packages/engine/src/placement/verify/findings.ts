/** Collects what does not hold: a check goes on after its first finding, since the second often explains the first. */
export class Findings {
  readonly list: string[] = [];

  expect(holds: boolean, message: () => string): void {
    if (!holds) this.list.push(message());
  }
}

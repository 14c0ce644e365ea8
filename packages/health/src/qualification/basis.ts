/** Whether a stored result is of a basis. Results of builds that stored none count until a baseline is stated. */
export const isOfBasis = ({ basis: stored }: { readonly basis?: string }, basis: string | undefined): boolean =>
  stored === basis || basis === undefined || (stored === undefined && !basis.includes(" "));

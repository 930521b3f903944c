// Measures as the CLI prints them.

export function measured(value: number): string {
  return value.toFixed(4)
}

/** With the sign in front, which is that of a minus. */
export function signed(value: number): string {
  return `${value < 0 ? '−' : '+'}${measured(Math.abs(value))}`
}

export function probability(p: number): string {
  return p < 0.0001 ? '< 0.0001' : p.toFixed(4)
}

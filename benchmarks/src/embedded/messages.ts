// What main.ts and the processes of the databases say to each other.
export type Request = { readonly kind: 'fill' } | { readonly kind: 'run'; readonly ef: number; readonly bound: number }

export interface Filled {
  readonly seconds: number
  readonly cpuSeconds: number
  /** Growth of the resident memory of the process, files that it maps included. */
  readonly residentBytes: number
  readonly diskBytes: number
}

/** All queries at one ef, one after the other. */
export interface Ran {
  readonly recall: number
  readonly medianMs: number
  readonly cpuMs: number
}

/** What work takes, in bytes. */
export interface MemoryNeed {
  /** What stays when it has ended. */
  readonly growth: number
  /** What it takes besides while it runs. */
  readonly transient?: number
}

export function bytesOf({ growth, transient = 0 }: MemoryNeed): number {
  return growth + transient
}

/** The part of the reserve that stays free. Work without growth may use half of it, so that objects can take the places of deleted ones. */
export function partOf({ growth }: MemoryNeed): number {
  return growth > 0 ? 1 : 0.5
}

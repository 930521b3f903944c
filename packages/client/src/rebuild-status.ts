// The state of a rebuild of a collection.

/** The state of the newest rebuild of a collection. */
export interface RebuildStatus {
  readonly status: 'idle' | 'in_progress' | 'completed' | 'failed'
  readonly objectsDone: number
  readonly objects: number
  readonly error?: string | undefined
}

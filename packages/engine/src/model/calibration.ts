// What is measured for searches that state a recall instead of ef.

/** How ef was chosen for a search that states a recall. */
export interface SearchRecall {
  /** The recall that the search states. */
  readonly target: number
  /** The chosen ef. The planner may compare all matches instead of walking; then the recall is at least as high. */
  readonly ef: number
  /** Expected recall, as measured. Absent before the first measurement. */
  readonly expected?: number
  /** `false`: no ef reaches the target, and the best one measured is used. Absent before the first measurement. */
  readonly reachable?: boolean
  /** Whether ef comes from a measurement of the current field. Otherwise it is a careful default, or the earlier ef raised by a quarter. */
  readonly calibrated: boolean
}

/** Which searches to calibrate. */
export interface CalibrateRequest<Name extends string = string> {
  /** A dense field with one vector for each object; default: the first one. */
  readonly field?: Name | undefined
  /** The limit of the searches; default 10. */
  readonly limit?: number | undefined
  /** As in a search. */
  readonly rescore?: boolean | undefined
  /** Number of queries that are measured, 20 to 1,000; default 200 to 1,000, fewer for fields that take long. */
  readonly sample?: number | undefined
}

/** The measurement of one kind of search in one field. */
export interface FieldCalibration {
  readonly field: string
  /** Searches with this limit or a smaller one use it. */
  readonly limit: number
  readonly rescore: boolean
  /**
   * `none`: not measured yet; `running`: being measured; `current`: valid for the current field; `outdated`: the field has changed too much;
   * `failed`: see `error`.
   */
  readonly state: 'none' | 'running' | 'current' | 'outdated' | 'failed'
  /** Number of received queries so far that state a recall. A bounded sample of them is kept in memory. */
  readonly received: number
  /** While it runs. */
  readonly progress?: { readonly done: number; readonly queries: number }
  /** Why the newest measurement ended early. */
  readonly error?: string
  /** Number of queries of the newest measurement. */
  readonly queries?: number
  /** `received`: a sample of the received queries; `rows`: made from stored vectors. */
  readonly source?: 'received' | 'rows'
  /** Rows of the field when it was measured. */
  readonly rows?: number
  /** Milliseconds since 1970. */
  readonly measuredAt?: number
  /** Duration of the newest measurement in milliseconds, including pauses for other work. */
  readonly tookMs?: number
  /** By share of matching rows, 1 without a filter. Points are in ascending order of ef. */
  readonly curves?: readonly CalibratedCurve[]
}

/** Calibrations of an engine. */
export interface CalibrationCounts {
  /** Number of calibrations by state. */
  readonly states: Readonly<Record<FieldCalibration['state'], number>>
  /** Searches that stated a recall, or whose field has a default, since the start. */
  readonly searches: number
  /** Searches among these whose recall no ef reaches. */
  readonly unreachable: number
}

/** Measured recall by ef. */
export interface CalibratedCurve {
  readonly share: number
  /** `error` is the standard error of `recall`. */
  readonly points: readonly { readonly ef: number; readonly recall: number; readonly error: number }[]
}

/** The measurement of one kind of search: plain data. */
export interface CalibratedKind {
  /** Position of the field in the definition. */
  readonly fieldIndex: number
  /** One of the measured limits. */
  readonly limit: number
  readonly rescore: boolean
  /** Whether the field is still close to what was measured. */
  readonly isTrue: boolean
  readonly curves: readonly CalibratedCurve[]
  /** Measured with queries made of rows, where `curves` are of few received queries. The smaller ef of both is enough. */
  readonly rowCurves?: readonly CalibratedCurve[] | undefined
}

/** The measurements of one collection: plain data that can be sent to other threads. */
export interface CalibrationTable {
  /** Of this form. A reader ignores a table of a form that it does not know. */
  readonly form: 1
  /** Generation of the replica that serves. What was measured before a rebuild is not true. */
  readonly generation: number
  readonly kinds: readonly CalibratedKind[]
}

/** Queries that stated a recall, or whose field has a default, of one kind of search. */
export interface ReceivedQueries {
  /** Position of the field in the definition. */
  readonly fieldIndex: number
  readonly k: number
  readonly rescore: boolean
  /** Number of queries by a vector. */
  readonly seen: number
  /** A sample of them, as they are compared with rows. */
  readonly queries: readonly Float32Array[]
}

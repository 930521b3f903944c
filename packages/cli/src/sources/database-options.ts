// Options for reading from another database.
import type { Renames } from '../formats/columns.ts'

export interface DatabaseOptions {
  /** The field for vectors without a name. */
  readonly field: string
  readonly renames: Renames
  /** Fields of type text; complete when the source is read. */
  readonly texts: ReadonlySet<string>
  /** Comma-separated keys; undefined means every key with a suitable value. */
  readonly filterKeys?: string | undefined
  readonly sourceToken?: string | undefined
}

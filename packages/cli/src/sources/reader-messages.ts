// The messages between an import and the thread that reads its file. Each request has one answer, and the thread begins with one.
import type { ObjectInput } from '@annal/client'
import type { RowOptions } from './file-rows.ts'

export interface ReaderSettings {
  readonly file: string
  readonly options: RowOptions
}

export type ToReader =
  | { readonly kind: 'open' }
  /** The first objects from a row on. */
  | { readonly kind: 'rows'; readonly first: number; readonly texts: readonly string[] }
  /** The objects after those of the last answer. */
  | { readonly kind: 'more' }

export type FromReader =
  /** Before any request: the id of the thread in the operating system, or 0. */
  | { readonly kind: 'started'; readonly thread: number }
  | { readonly kind: 'opened'; readonly total: number | undefined }
  | { readonly kind: 'objects'; readonly objects: readonly ObjectInput[]; readonly isLast: boolean }
  | { readonly kind: 'failed'; readonly failure: ReaderFailure }

export type ReaderFailure =
  | { readonly kind: 'end'; readonly exitCode: number; readonly message: string }
  | {
      readonly kind: 'system'
      readonly message: string
      readonly code: string | undefined
      readonly syscall: string | undefined
      readonly path: string | undefined
    }
  | { readonly kind: 'other'; readonly message: string }

// Notices of the log, for the one place that writes messages.

/** Something that an operator should know. Each needs no action unless it says so. */
export type LogNotice =
  /** Bytes that were never acknowledged were cut off the end. They are kept at `path` unless they were only zeros. */
  | { readonly kind: 'tail-cut'; readonly bytes: number; readonly lsnLast: number; readonly path: string | undefined }
  /** TIP lost one slot or both, or is missing. The log was checked with less proof than usual. */
  | { readonly kind: 'tip-damaged'; readonly slots: number }
  | { readonly kind: 'slow-sync'; readonly tookMs: number }
  | { readonly kind: 'read-only'; readonly reason: string }
  | { readonly kind: 'writable' }
  /** The directory's last owner is exiting; `pid` where it is known. */
  | { readonly kind: 'waiting-for-lock'; readonly pid: number | undefined }

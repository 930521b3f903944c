// Decides whether a checkpoint writes all of a part or only what changed since the previous one. A start reads the whole part and every
// change after it, so both their number and their bytes are bounded by the size of the part.
import type { ManifestFile } from './manifest.ts'

export interface DeltaLimits {
  /** Smaller parts are always written whole. */
  readonly partBytesMin: number
  /** Bytes of all changes after a part, as a share of the part. */
  readonly shareMax: number
  /** Changes after a part. */
  readonly countMax: number
}

export const usualDeltaLimits: DeltaLimits = { partBytesMin: 8 * 1024 * 1024, shareMax: 1 / 2, countMax: 32 }

/**
 * Bytes up to which changes after this file are worth it; 0 when the whole part is to be written. That is also so when changes like the last
 * ones would not fit, so that it is known before they accumulate.
 */
export function changesWorth({ bytes, deltas = [] }: ManifestFile, limits: DeltaLimits): number {
  if (bytes < limits.partBytesMin || deltas.length >= limits.countMax) return 0
  const held = deltas.reduce((sum, delta) => sum + delta.bytes, 0)
  const left = Math.floor(bytes * limits.shareMax) - held
  return left >= (deltas.at(-1)?.bytes ?? 1) ? left : 0
}

/** Whether the next checkpoint will write a part whole that has changes now. */
export function isNextWhole(files: readonly ManifestFile[], limits: DeltaLimits): boolean {
  return files.some((file) => file.deltas?.length && changesWorth(file, limits) === 0)
}

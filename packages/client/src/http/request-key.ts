// The keys of writes. Every attempt of a call has the same key, so that a server runs the write once.
import { AnnalError } from '../errors.ts'

export const requestKeyHeader = 'Idempotency-Key'

/** 128 random bits. `crypto.randomUUID` does not exist in pages that came over plain HTTP. */
export function newRequestKey(): string {
  let key = ''
  for (const byte of crypto.getRandomValues(new Uint8Array(16))) key += byte.toString(16).padStart(2, '0')
  return key
}

/** Refused here because fetch would fail with an error that names no field. */
export function checkRequestKey(key: string): void {
  if (typeof key === 'string' && /^[\x21-\x7e]{1,255}$/.test(key)) return
  const field = 'idempotencyKey'
  throw new AnnalError('invalid_argument', `${field} must have 1 to 255 visible ASCII characters`, {
    field,
    value: key,
    limit: 255,
  })
}

// Converts errors of fastify and its validator to errors of this server.

import type { FastifyError, FastifySchemaValidationError } from 'fastify'
import { ServerError, type ServerErrorCode } from '../errors.ts'

/** An error of the validator with `verbose`; fastify's type does not have the value. */
type ValidationFault = FastifySchemaValidationError & { readonly data?: unknown }

/** Undefined if the client did not cause the error. */
export function fromFramework(error: FastifyError | Error): ServerError | undefined {
  if (!('code' in error)) return undefined
  if ('validation' in error && error.validation !== undefined && error.validation.length > 0) {
    return fromValidation(error.validation[0] as ValidationFault, error.validationContext ?? 'body')
  }
  const found = frameworkCodes.get(error.code)
  if (found !== undefined) return new ServerError(found.code, found.message, {}, { cause: error })
  if (error.code.startsWith('FST_ERR_') && typeof error.statusCode === 'number' && error.statusCode < 500) {
    return new ServerError('bad_request', error.message, {}, { cause: error })
  }
  return undefined
}

const frameworkCodes = new Map<string, { readonly code: ServerErrorCode; readonly message: string }>([
  [
    'FST_ERR_CTP_INVALID_MEDIA_TYPE',
    { code: 'unsupported_media_type', message: 'Content-Type must be application/json or application/msgpack' },
  ],
  ['FST_ERR_CTP_BODY_TOO_LARGE', { code: 'body_too_large', message: 'the body is larger than this route accepts' }],
  [
    'FST_ERR_CTP_INVALID_CONTENT_LENGTH',
    { code: 'bad_request', message: 'the length of the body does not match Content-Length' },
  ],
  ['FST_ERR_BAD_URL', { code: 'bad_request', message: 'the path is not a valid URL' }],
  ['FST_ERR_MAX_PARAM_LENGTH', { code: 'bad_request', message: 'a part of the path is too long' }],
  ['ECONNRESET', { code: 'bad_request', message: 'the connection closed before the body was complete' }],
])

const limitKeywords = ['maximum', 'maxItems', 'maxLength', 'minimum', 'exclusiveMinimum', 'minItems']

function fromValidation(fault: ValidationFault, context: string): ServerError {
  const missing = fault.keyword === 'required' ? String(fault.params.missingProperty) : ''
  const path = [fieldPath(fault.instancePath), missing].filter((part) => part !== '').join('.')
  const field = path === '' ? context : path
  if (missing !== '') return new ServerError('invalid_argument', `${field} is required`, { field })
  const limit = fault.params.limit ?? fault.params.allowedValues ?? fault.params.allowedValue
  const measured = fault.keyword === 'maxItems' && Array.isArray(fault.data) ? fault.data.length : fault.data
  const code = limitKeywords.includes(fault.keyword) ? 'limit_exceeded' : 'invalid_argument'
  return new ServerError(code, `${field} ${complaint(fault)}`, { field, value: measured, limit })
}

function complaint({ keyword, params, message }: ValidationFault): string {
  if (keyword === 'type') return `must be ${String(params.type).replaceAll(',', ' or ')}`
  if (keyword === 'const') return `must be ${JSON.stringify(params.allowedValue)}`
  if (keyword === 'maxItems') return `must have at most ${String(params.limit)} entries`
  if (keyword === 'minItems') return `must have at least ${String(params.limit)} entries`
  return message ?? 'is not valid'
}

/** Converts `/updates/3/id` to `updates[3].id`. */
function fieldPath(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((part) => (/^\d+$/.test(part) ? `[${part}]` : `.${part.replaceAll('~1', '/').replaceAll('~0', '~')}`))
    .join('')
    .replace(/^\./, '')
}

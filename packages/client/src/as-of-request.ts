// The moment of a read, from its request or its options.
import type { AsOf } from './model.ts'
import type { ReadOptions } from './transport.ts'

/** The request as of the moment of the options, unless it names one itself. */
export function asOfRequest<Request extends { readonly asOf?: AsOf | undefined }>(
  request: Request,
  options: ReadOptions | undefined,
): Request {
  return options?.asOf === undefined || request?.asOf !== undefined ? request : { ...request, asOf: options.asOf }
}

// Checks a request to calibrate.
import { topKDefault } from '../defaults.ts'
import { EngineError } from '../errors.ts'
import { calibrationSampleMin, type Limits, recallSampleMax } from '../limits.ts'
import type { CalibrateRequest } from '../model/calibration.ts'
import { checkObject, printed, shownValue } from '../model/ids.ts'
import { wholeNumber } from '../model/numbers.ts'
import type { CollectionSchema } from '../model/schema.ts'
import { isRescored } from '../search/rescore.ts'
import type { MeasuredSearch } from './measure-curves.ts'

/** Throws invalid_argument, limit_exceeded or field_not_found. */
export function parseCalibrate(
  request: CalibrateRequest,
  { fields }: CollectionSchema,
  limits: Limits,
): MeasuredSearch & { readonly sample: number | undefined } {
  checkObject(request, 'request')
  const { field: name, limit = topKDefault, rescore, sample } = request
  const fieldIndex = fields.findIndex((field) => field.kind === 'dense' && (name === undefined || field.name === name))
  const definition = fields[fieldIndex]
  if (definition?.kind !== 'dense') {
    const which = name === undefined ? '' : ` ${printed(name)}`
    const message = `the collection has no field of type vector${which}`
    throw new EngineError('field_not_found', message, { field: 'field', value: name })
  }
  if (rescore !== undefined && typeof rescore !== 'boolean')
    throw new EngineError('invalid_argument', `rescore must be true or false, got ${printed(rescore)}`, {
      field: 'rescore',
      value: shownValue(rescore),
    })
  const k = wholeNumber(limit, 'limit', 1, limits.topKMax)
  return {
    ...{ fieldIndex, definition, k },
    rescore: isRescored({ definition }, { rescore }),
    sample: sample === undefined ? undefined : wholeNumber(sample, 'sample', calibrationSampleMin, recallSampleMax),
  }
}

// Decodes rows to float32.
import {
  BINARY,
  FLOAT16,
  FLOAT32,
  INT8,
  INT16,
  INT4,
  center,
  codeBytes,
  coldOf,
  coldStride,
  dimension,
  packing,
  precision,
  rotated,
  rowOf,
} from './layout'
import { query, queryCentered } from './scratch'
import { rotatedLength } from './centered'
import { fromHalf } from './distance/half'
import { packedValue } from './distance/packed'
import { rotateBack } from './rotate'

/**
 * E|z| sqrt(2 / pi) = 2 / pi for a normally distributed component z: scales the factor so that the decoded signs are nearest to the vector.
 */
const SIGN_SHARE: f32 = 0.6366

/** Decodes the row `id` to float32 into the query buffer. */
export function decodeRow(id: u32): void {
  const cold = coldOf(id)
  if (precision == FLOAT32) {
    memory.copy(query, cold, <usize>dimension << 2)
    return
  }
  if (rotated) {
    decodeRotated(rowOf(id))
    return
  }
  const row = rowOf(id)
  const coarse = load<f32>(row + codeBytes, 4)
  if (precision == FLOAT16 || precision == BINARY) {
    const scale: f32 = precision == FLOAT16 ? load<f32>(cold + coldStride - 4) : coarse * SIGN_SHARE
    for (let i: i32 = 0; i < dimension; ++i) {
      const value =
        precision == FLOAT16
          ? fromHalf(load<u16>(cold + (<usize>i << 1)))
          : <f32>(((load<u8>(row + <usize>(i >> 3)) >> <u8>(i & 7)) & 1) << 1) - 1
      store<f32>(query + (<usize>i << 2), value * scale + load<f32>(center + (<usize>i << 2)))
    }
    return
  }
  const fine = precision == INT8 || precision == INT16 ? load<f32>(cold + coldStride - 4) : coarse
  for (let i: i32 = 0; i < dimension; ++i) {
    let value = <f32>(<i32>load<u8>(row + <usize>i) - 64)
    if (precision == INT8) {
      const shifted = load<u8>(cold + (<usize>(i >> 6) << 4) + <usize>(i & 15)) >> <u8>(((i >> 4) & 3) << 1)
      value += (<f32>(shifted & 3) - 1.5) / 4
    } else if (precision == INT16) {
      value += (<f32>load<u8>(cold + <usize>i) - 63.5) / 127
    }
    store<f32>(query + (<usize>i << 2), value * fine + load<f32>(center + (<usize>i << 2)))
  }
}

/** The same for codes of two and four bits: one minus their mean squared error for normally distributed components. */
const CRUMB_SHARE: f32 = 0.8812
const NIBBLE_SHARE: f32 = 0.985

function decodeRotated(row: usize): void {
  const share = precision == BINARY ? SIGN_SHARE : precision == INT4 ? NIBBLE_SHARE : CRUMB_SHARE
  const scale = load<f32>(row + codeBytes, 4) * share
  for (let i: i32 = 0; i < rotatedLength(); ++i) {
    const value =
      packing != 0 ? packedValue(row, i) : <i32>(((load<u8>(row + <usize>(i >> 3)) >> <u8>(i & 7)) & 1) << 1) - 1
    store<f32>(queryCentered + (<usize>i << 2), <f32>value * scale)
  }
  rotateBack(queryCentered, rotatedLength())
  for (let i: usize = 0; i < <usize>dimension << 2; i += 4)
    store<f32>(query + i, load<f32>(queryCentered + i) + load<f32>(center + i))
}

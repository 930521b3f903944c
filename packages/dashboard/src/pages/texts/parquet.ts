// Rows of a Parquet file. The page may not run WebAssembly, so everything is decompressed by JavaScript: Snappy by the library itself, and the
// other common codecs here.
import { gunzipSync } from 'fflate'
import { decompress } from 'fzstd'
import { type Compressors, parquetReadObjects } from 'hyparquet'

const compressors: Compressors = {
  GZIP: (input) => gunzipSync(input),
  ZSTD: (input) => decompress(input),
}

export function readParquet(file: ArrayBuffer): Promise<readonly object[]> {
  return parquetReadObjects({ file, compressors })
}

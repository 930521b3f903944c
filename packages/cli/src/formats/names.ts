// The values of --format.

export const importFormats = [
  'jsonl',
  'json',
  'csv',
  'tsv',
  'parquet',
  'arrow',
  'hdf5',
  'npy',
  'fvecs',
  'bvecs',
] as const
export const exportFormats = ['jsonl', 'csv', 'parquet', 'npy', 'fvecs', 'bvecs'] as const

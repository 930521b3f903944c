// The values of --format.

export const importFormats = ['jsonl', 'csv', 'tsv', 'parquet', 'npy', 'fvecs', 'bvecs'] as const
export const exportFormats = ['jsonl', 'csv', 'parquet', 'npy', 'fvecs', 'bvecs'] as const

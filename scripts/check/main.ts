// The checks that types and lint cannot make: who may import whom, no cycles, no clock and no chance in the fold,
// and an explanation for every error code.
// `npm run check` runs it; it prints one line per fault and exits with 1 when there is any.
import { errorCodeFaults } from './error-codes.ts'
import { foldFaults } from './fold.ts'
import { importFaults } from './imports.ts'

const faults = [...(await importFaults()), ...(await foldFaults()), ...(await errorCodeFaults())]
for (const fault of faults) console.error(fault)
console.log(faults.length === 0 ? 'imports, the fold and error codes: in order' : `${faults.length} faults`)
process.exitCode = faults.length === 0 ? 0 : 1

// The checks that types and lint cannot make: who may import whom, no cycles, and an explanation for every error code.
// `npm run check` runs it; it prints one line per fault and exits with 1 when there is any.
import { errorCodeFaults } from './error-codes.ts'
import { importFaults } from './imports.ts'

const faults = [...(await importFaults()), ...(await errorCodeFaults())]
for (const fault of faults) console.error(fault)
console.log(faults.length === 0 ? 'imports and error codes: in order' : `${faults.length} faults`)
process.exitCode = faults.length === 0 ? 0 : 1

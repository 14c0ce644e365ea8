import { estimateStep, runKindOf } from "../../packages/perf/src/index.ts";
import { fitConstants } from "./training-fit.ts";
import { readTrainingRow } from "./training-rows.ts";
import { measurementRows } from "./measurement-file.ts";
const D="../shared/data/training/";
const read=(f:string)=>measurementRows(D+f).map(readTrainingRow).flatMap(r=>r.kind==="row"?[r.row]:[]);
const rows=[...read("measurements.csv"),...read("measurements_unseen_1.csv")].filter(r=>r.isScored&&r.stepSeconds!==undefined&&r.status!=="oom");
const groups=[...new Set(rows.map(r=>r.group))];
const out:unknown[]=[];
for(const g of groups){const c=fitConstants(rows.filter(r=>r.group!==g));
 for(const r of rows.filter(r=>r.group===g)){const e=estimateStep(r.job,r.plan,r.system,c);const b=e.breakdown;
 const s=(...k:string[])=>k.reduce((a,x)=>a+(b as any)[x],0)/e.seconds;
 out.push({id:r.id,g,err:Math.log(e.seconds/r.stepSeconds!),ex:s("tensorExchange","contextExchange","stageTransfer","stateExchange","bubble"),ro:s("expertExchange","routing","launch"),re:s("recomputation"),chosen:r.chosen,...runKindOf(r.job,r.plan,r.system),nodes:r.system.cluster.nodeCount});}}
console.log(JSON.stringify(out));

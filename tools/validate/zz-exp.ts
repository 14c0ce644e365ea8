import { estimateStep, trainingConstantValues } from "@headroom/perf";
import { fitConstants, logError } from "./training-fit.ts";
import { readTrainingRow } from "./training-rows.ts";
import { measurementRows } from "./measurement-file.ts";
const D="../shared/data/training/";
const read=(f:string)=>measurementRows(D+f).map(readTrainingRow).flatMap(r=>r.kind==="row"?[r.row]:[]);
const rows=[...read("measurements.csv"),...read("measurements_unseen_1.csv")].filter(r=>r.isScored&&r.stepSeconds!==undefined&&r.status!=="oom");
const groups=[...new Set(rows.map(r=>r.group))];
const all=fitConstants(rows);
const mape=(rs:typeof rows,c:typeof all)=>rs.reduce((s,r)=>s+Math.abs(Math.exp(logError(r,c))-1),0)/rs.length*100;
const bias=(rs:typeof rows,c:typeof all)=>rs.reduce((s,r)=>s+(Math.exp(logError(r,c))-1),0)/rs.length*100;
let gi=0,gl=0,ti=0,tl=0,gn=0,tn=0;
const isT=(g:string)=>rows.filter(r=>r.group===g).every(r=>r.isTpu);
for(const g of groups){const of=rows.filter(r=>r.group===g);const c=process.argv.includes("--fast")?all:fitConstants(rows.filter(r=>r.group!==g));
 // bar: TPU rows apart
 const a=mape(of,all),b=mape(of,c);
 console.log(g.padEnd(26),String(of.length).padStart(4),"in",a.toFixed(1).padStart(6),"left",b.toFixed(1).padStart(6),"bias",bias(of,c).toFixed(1).padStart(6));}
for(const [name,pick] of [["GPU",(r:any)=>!r.isTpu],["TPU",(r:any)=>r.isTpu]] as const){let a=0,b=0,n=0;for(const g of groups){const of=rows.filter(r=>r.group===g&&pick(r));if(!of.length)continue;const c=process.argv.includes("--fast")?all:fitConstants(rows.filter(r=>r.group!==g));a+=mape(of,all);b+=mape(of,c);n++;}console.log(name,n,"macro in",(a/n).toFixed(2),"left",(b/n).toFixed(2));}
console.log(JSON.stringify(Object.fromEntries(Object.entries(all).map(([k,v])=>[k,Number(v.toPrecision(4))]))));

/**
 * The columns of FOCUS 1.2 (FinOps Open Cost and Usage Specification), with type and allowed values, and the columns that
 * this product adds. The facts are those of the specification; the order is the order of the files.
 */
export type FocusType = "string" | "decimal" | "instant" | "json";

export interface FocusColumn {
  readonly name: string;
  readonly type: FocusType;
  /** Every dataset has the column. */
  readonly isMandatory?: true;
  readonly isNullable?: true;
  readonly isNonNegative?: true;
  readonly isCurrency?: true;
  readonly isUnit?: true;
  readonly values?: readonly string[];
}

export const focusColumns = [
  { name: "AvailabilityZone", type: "string", isNullable: true },
  { name: "BilledCost", type: "decimal", isMandatory: true },
  { name: "BillingAccountId", type: "string", isMandatory: true },
  { name: "BillingAccountName", type: "string", isMandatory: true, isNullable: true },
  { name: "BillingAccountType", type: "string" },
  { name: "BillingCurrency", type: "string", isMandatory: true, isCurrency: true },
  { name: "BillingPeriodEnd", type: "instant", isMandatory: true },
  { name: "BillingPeriodStart", type: "instant", isMandatory: true },
  { name: "CapacityReservationId", type: "string", isNullable: true },
  { name: "CapacityReservationStatus", type: "string", isNullable: true, values: ["Used", "Unused"] },
  {
    name: "ChargeCategory",
    type: "string",
    isMandatory: true,
    values: ["Usage", "Purchase", "Tax", "Credit", "Adjustment"],
  },
  { name: "ChargeClass", type: "string", isMandatory: true, isNullable: true, values: ["Correction"] },
  { name: "ChargeDescription", type: "string", isMandatory: true, isNullable: true },
  { name: "ChargeFrequency", type: "string", values: ["One-Time", "Recurring", "Usage-Based"] },
  { name: "ChargePeriodEnd", type: "instant", isMandatory: true },
  { name: "ChargePeriodStart", type: "instant", isMandatory: true },
  { name: "CommitmentDiscountCategory", type: "string", isNullable: true, values: ["Spend", "Usage"] },
  { name: "CommitmentDiscountId", type: "string", isNullable: true },
  { name: "CommitmentDiscountName", type: "string", isNullable: true },
  { name: "CommitmentDiscountQuantity", type: "decimal", isNullable: true },
  { name: "CommitmentDiscountStatus", type: "string", isNullable: true, values: ["Used", "Unused"] },
  { name: "CommitmentDiscountType", type: "string", isNullable: true },
  { name: "CommitmentDiscountUnit", type: "string", isNullable: true, isUnit: true },
  { name: "ConsumedQuantity", type: "decimal", isNullable: true },
  { name: "ConsumedUnit", type: "string", isNullable: true, isUnit: true },
  { name: "ContractedCost", type: "decimal", isMandatory: true },
  { name: "ContractedUnitPrice", type: "decimal", isNullable: true, isNonNegative: true },
  { name: "EffectiveCost", type: "decimal", isMandatory: true },
  { name: "InvoiceId", type: "string", isNullable: true },
  { name: "InvoiceIssuerName", type: "string", isMandatory: true },
  { name: "ListCost", type: "decimal", isMandatory: true },
  { name: "ListUnitPrice", type: "decimal", isNullable: true, isNonNegative: true },
  { name: "PricingCategory", type: "string", isNullable: true, values: ["Standard", "Dynamic", "Committed", "Other"] },
  { name: "PricingCurrency", type: "string", isNullable: true, isCurrency: true },
  { name: "PricingCurrencyContractedUnitPrice", type: "decimal", isNullable: true, isNonNegative: true },
  { name: "PricingCurrencyEffectiveCost", type: "decimal", isNullable: true },
  { name: "PricingCurrencyListUnitPrice", type: "decimal", isNullable: true, isNonNegative: true },
  { name: "PricingQuantity", type: "decimal", isMandatory: true, isNullable: true },
  { name: "PricingUnit", type: "string", isMandatory: true, isNullable: true, isUnit: true },
  { name: "ProviderName", type: "string", isMandatory: true },
  { name: "PublisherName", type: "string", isMandatory: true },
  { name: "RegionId", type: "string", isNullable: true },
  { name: "RegionName", type: "string", isNullable: true },
  { name: "ResourceId", type: "string", isNullable: true },
  { name: "ResourceName", type: "string", isNullable: true },
  { name: "ResourceType", type: "string", isNullable: true },
  { name: "ServiceCategory", type: "string", isMandatory: true },
  { name: "ServiceName", type: "string", isMandatory: true },
  { name: "ServiceSubcategory", type: "string" },
  { name: "SkuId", type: "string", isNullable: true },
  { name: "SkuMeter", type: "string", isNullable: true },
  { name: "SkuPriceDetails", type: "json", isNullable: true },
  { name: "SkuPriceId", type: "string", isNullable: true },
  { name: "SubAccountId", type: "string", isNullable: true },
  { name: "SubAccountName", type: "string", isNullable: true },
  { name: "SubAccountType", type: "string", isNullable: true },
  { name: "Tags", type: "json", isNullable: true },
] as const satisfies readonly FocusColumn[];

/** Own columns. Their names begin with `x_`, as the specification requires. */
export const ownColumns = [
  { name: "x_GpuModel", type: "string", isNullable: true },
  { name: "x_GpuHoursAllocated", type: "decimal", isNullable: true },
  { name: "x_GpuHoursActive", type: "decimal", isNullable: true },
  { name: "x_EnergyKWh", type: "decimal", isNullable: true },
  { name: "x_CarbonGrams", type: "decimal", isNullable: true },
  { name: "x_WorkloadId", type: "string", isNullable: true },
  { name: "x_Workload", type: "string", isNullable: true },
  { name: "x_WorkloadKind", type: "string", isNullable: true },
  { name: "x_User", type: "string", isNullable: true },
  { name: "x_UsageState", type: "string", isNullable: true },
  { name: "x_UsageCause", type: "string", isNullable: true },
  { name: "x_IdleReason", type: "string", isNullable: true },
] as const satisfies readonly FocusColumn[];

export const allColumns: readonly FocusColumn[] = [...focusColumns, ...ownColumns];

export type FocusColumnName = (typeof focusColumns)[number]["name"] | (typeof ownColumns)[number]["name"];

/** Subcategories by category. Each belongs to one category. */
export const serviceSubcategories: ReadonlyMap<string, readonly string[]> = new Map([
  [
    "AI and Machine Learning",
    [
      "AI Platforms",
      "Bots",
      "Generative AI",
      "Machine Learning",
      "Natural Language Processing",
      "Other (AI and Machine Learning)",
    ],
  ],
  [
    "Analytics",
    [
      "Analytics Platforms",
      "Business Intelligence",
      "Data Processing",
      "Search",
      "Streaming Analytics",
      "Other (Analytics)",
    ],
  ],
  ["Business Applications", ["Productivity and Collaboration", "Other (Business Applications)"]],
  [
    "Compute",
    [
      "Containers",
      "End User Computing",
      "Quantum Compute",
      "Serverless Compute",
      "Virtual Machines",
      "Other (Compute)",
    ],
  ],
  [
    "Databases",
    [
      "Caching",
      "Data Warehouses",
      "Ledger Databases",
      "NoSQL Databases",
      "Relational Databases",
      "Time Series Databases",
      "Other (Databases)",
    ],
  ],
  [
    "Developer Tools",
    [
      "Developer Platforms",
      "Continuous Integration and Deployment",
      "Development Environments",
      "Source Code Management",
      "Quality Assurance",
      "Other (Developer Tools)",
    ],
  ],
  ["Identity", ["Identity and Access Management", "Other (Identity)"]],
  ["Integration", ["API Management", "Messaging", "Workflow Orchestration", "Other (Integration)"]],
  ["Internet of Things", ["IoT Analytics", "IoT Platforms", "Other (Internet of Things)"]],
  [
    "Management and Governance",
    [
      "Architecture",
      "Compliance",
      "Cost Management",
      "Data Governance",
      "Disaster Recovery",
      "Endpoint Management",
      "Observability",
      "Support",
      "Other (Management and Governance)",
    ],
  ],
  ["Media", ["Content Creation", "Gaming", "Media Streaming", "Mixed Reality", "Other (Media)"]],
  ["Migration", ["Data Migration", "Resource Migration", "Other (Migration)"]],
  ["Mobile", ["Other (Mobile)"]],
  ["Multicloud", ["Multicloud Integration", "Other (Multicloud)"]],
  [
    "Networking",
    [
      "Application Networking",
      "Content Delivery",
      "Network Connectivity",
      "Network Infrastructure",
      "Network Routing",
      "Network Security",
      "Other (Networking)",
    ],
  ],
  [
    "Security",
    ["Secret Management", "Security Posture Management", "Threat Detection and Response", "Other (Security)"],
  ],
  [
    "Storage",
    ["Backup Storage", "Block Storage", "File Storage", "Object Storage", "Storage Platforms", "Other (Storage)"],
  ],
  ["Web", ["Application Platforms", "Other (Web)"]],
  ["Other", ["Other (Other)"]],
]);

/** A row of a FOCUS file: text, number, instant in ms, or null. JSON columns hold their text. */
export type FocusRow = { readonly [Name in FocusColumnName]: string | number | null };

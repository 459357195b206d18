export interface paths {
    "/api/v1/orders": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description **Idempotent.** Send a key in the header `Idempotency-Key` and repeat it to retry: the operation takes effect once. While the first request runs, a retry is refused for now. For 24 hours after that, a retry gets the same answer. A later one is a new operation. A key that is used again with another request is refused. */
        post: operations["OrdersController_create_v1"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
    "/api/v1/orders/optional": {
        parameters: {
            query?: never;
            header?: never;
            path?: never;
            cookie?: never;
        };
        get?: never;
        put?: never;
        /** @description **Idempotent.** Send a key in the header `Idempotency-Key` if the request may be retried, and repeat it to retry: the operation takes effect once. While the first request runs, a retry is refused for now. For 24 hours after that, a retry gets the same answer. A later one is a new operation. A key that is used again with another request is refused. */
        post: operations["OrdersController_optional_v1"];
        delete?: never;
        options?: never;
        head?: never;
        patch?: never;
        trace?: never;
    };
}
export type webhooks = Record<string, never>;
export interface components {
    schemas: {
        /** @description Why an idempotent request was not run (RFC 9457). */
        IdempotencyProblem: {
            /**
             * Format: uri
             * @description One for each code.
             */
            type: string;
            /** @description The same for all problems of a code. */
            title: string;
            /** @description The status of the response. */
            status: number;
            /** @description A sentence about this occurrence, for developers. */
            detail: string;
            /**
             * @description For programs.
             * @enum {string}
             */
            code: "key_missing" | "key_invalid" | "body_invalid" | "key_reused" | "in_progress" | "outcome_unknown" | "given_up" | "unfinished" | "expired" | "response_unavailable" | "scope_missing" | "rate_limited" | "store_unavailable" | "lease_lost";
            /** @description The same request may be sent again, under the same key. */
            retryable: boolean;
            /** @description Of response_unavailable: the status that the operation ended with. */
            original_status?: number;
            /** @description Of rate_limited: the limit that was met. */
            limit?: string;
        };
        NewOrder: {
            sku: string;
        };
        Order: {
            sku: string;
            id: number;
        };
    };
    responses: never;
    parameters: never;
    requestBodies: never;
    headers: never;
    pathItems: never;
}
export type $defs = Record<string, never>;
export interface operations {
    OrdersController_create_v1: {
        parameters: {
            query?: never;
            header: {
                /** @description Unique to the operation, such as a UUID. Repeat it to retry the operation, and never use it for another one. */
                "Idempotency-Key": string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody: {
            content: {
                "application/json": components["schemas"]["NewOrder"];
            };
        };
        responses: {
            201: {
                headers: {
                    /** @description The request had been answered before, and this is the same answer. Absent the first time. */
                    "Idempotent-Replayed"?: "true";
                    /** @description Until when a retry gets the same answer, as an HTTP date. */
                    "Idempotency-Key-Expires"?: string;
                    [name: string]: unknown;
                };
                content: {
                    "application/json": components["schemas"]["Order"];
                };
            };
            /**
             * @description `key_missing`: Idempotency-Key is missing
             *
             *     `key_invalid`: Idempotency-Key is not valid
             *
             *     `body_invalid`: The request cannot be compared with its retries
             */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["IdempotencyProblem"] & {
                        /** @enum {string} */
                        code?: "key_missing" | "key_invalid" | "body_invalid";
                    };
                };
            };
            /** @description `unfinished`: The request was not completed in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["IdempotencyProblem"] & {
                        /** @enum {string} */
                        code?: "unfinished";
                    };
                };
            };
            /**
             * @description `in_progress`: A request is outstanding for this Idempotency-Key
             *
             *     `outcome_unknown`: The outcome of the request is not known yet
             *
             *     `given_up`: The operation was given up for now
             *
             *     `lease_lost`: The request was taken over
             */
            409: {
                headers: {
                    /** @description Whole seconds until a retry, with the same key, is worth it. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["IdempotencyProblem"] & {
                        /** @enum {string} */
                        code?: "in_progress" | "outcome_unknown" | "given_up" | "lease_lost";
                    };
                };
            };
            /** @description `response_unavailable`: The response is no longer available */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["IdempotencyProblem"] & {
                        /** @enum {string} */
                        code?: "response_unavailable";
                    };
                };
            };
            /** @description `key_reused`: Idempotency-Key is already used */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["IdempotencyProblem"] & {
                        /** @enum {string} */
                        code?: "key_reused";
                    };
                };
            };
            /** @description `store_unavailable`: Idempotency cannot be guaranteed at the moment */
            503: {
                headers: {
                    /** @description Whole seconds until a retry, with the same key, is worth it. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["IdempotencyProblem"] & {
                        /** @enum {string} */
                        code?: "store_unavailable";
                    };
                };
            };
        };
    };
    OrdersController_optional_v1: {
        parameters: {
            query?: never;
            header?: {
                /** @description Unique to the operation, such as a UUID. Repeat it to retry the operation, and never use it for another one. */
                "Idempotency-Key"?: string;
            };
            path?: never;
            cookie?: never;
        };
        requestBody?: never;
        responses: {
            201: {
                headers: {
                    /** @description The request had been answered before, and this is the same answer. Absent the first time. */
                    "Idempotent-Replayed"?: "true";
                    /** @description Until when a retry gets the same answer, as an HTTP date. */
                    "Idempotency-Key-Expires"?: string;
                    [name: string]: unknown;
                };
                content?: never;
            };
            /**
             * @description `key_invalid`: Idempotency-Key is not valid
             *
             *     `body_invalid`: The request cannot be compared with its retries
             */
            400: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["IdempotencyProblem"] & {
                        /** @enum {string} */
                        code?: "key_invalid" | "body_invalid";
                    };
                };
            };
            /** @description `unfinished`: The request was not completed in time */
            408: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["IdempotencyProblem"] & {
                        /** @enum {string} */
                        code?: "unfinished";
                    };
                };
            };
            /**
             * @description `in_progress`: A request is outstanding for this Idempotency-Key
             *
             *     `outcome_unknown`: The outcome of the request is not known yet
             *
             *     `given_up`: The operation was given up for now
             *
             *     `lease_lost`: The request was taken over
             */
            409: {
                headers: {
                    /** @description Whole seconds until a retry, with the same key, is worth it. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["IdempotencyProblem"] & {
                        /** @enum {string} */
                        code?: "in_progress" | "outcome_unknown" | "given_up" | "lease_lost";
                    };
                };
            };
            /** @description `response_unavailable`: The response is no longer available */
            410: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["IdempotencyProblem"] & {
                        /** @enum {string} */
                        code?: "response_unavailable";
                    };
                };
            };
            /** @description `key_reused`: Idempotency-Key is already used */
            422: {
                headers: {
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["IdempotencyProblem"] & {
                        /** @enum {string} */
                        code?: "key_reused";
                    };
                };
            };
            /** @description `store_unavailable`: Idempotency cannot be guaranteed at the moment */
            503: {
                headers: {
                    /** @description Whole seconds until a retry, with the same key, is worth it. */
                    "Retry-After"?: number;
                    [name: string]: unknown;
                };
                content: {
                    "application/problem+json": components["schemas"]["IdempotencyProblem"] & {
                        /** @enum {string} */
                        code?: "store_unavailable";
                    };
                };
            };
        };
    };
}

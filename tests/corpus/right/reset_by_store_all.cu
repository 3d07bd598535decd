__global__ void histogram(const int* values, unsigned int* counts, int n, int bins) {
    extern __shared__ unsigned int own[];
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x) asm volatile("st.relaxed.cta.shared.u32 [%0], %1;" :: "r"((unsigned)__cvta_generic_to_shared(&own[bin])), "r"(0u) : "memory");
    __syncthreads();
    int first = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = first; i < n; i += gridDim.x * blockDim.x)
        atomicAdd(&own[values[i]], 1u);
    __syncthreads();
    for (int bin = threadIdx.x; bin < bins; bin += blockDim.x)
        atomicAdd(&counts[bin], own[bin]);
}

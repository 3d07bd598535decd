__device__ unsigned int own(const void* place) { return (unsigned int)__cvta_generic_to_shared(place); }

__device__ unsigned int in_block(const void* place, unsigned int rank) {
    unsigned int there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(own(place)), "r"(rank));
    return there;
}

__device__ unsigned int cluster_rank() {
    unsigned int rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

__device__ void cluster_sync() {
    asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
    asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

__device__ void wait_for(unsigned long long* barrier, unsigned int parity) {
    unsigned int done = 0;
    while (!done)
        asm volatile(
            "{.reg .pred p;\n"
            " mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;\n"
            " selp.b32 %0, 1, 0, p;}"
            : "=r"(done) : "r"(own(barrier)), "r"(parity) : "memory");
}

__device__ void arrive(unsigned int barrier) {
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(barrier) : "memory");
}

//!tilelab block=(BLOCK_SIZE/4) grid=(2*ceil(n/(2*BLOCK_SIZE))) cluster=2
__global__ void reduceKernel(float* input, float* output, int n) {
    __shared__ float buffer[BLOCK_SIZE / 4], sums[BLOCK_SIZE / 4];
    __shared__ unsigned long long full, empty;
    int t = threadIdx.x, threads = blockDim.x, rank = cluster_rank(), section = blockIdx.x / 2 * 8 * threads;
    if (t == 0) {
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(own(&full)), "r"(threads) : "memory");
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(own(&empty)), "r"(threads) : "memory");
    }
    cluster_sync();
    float sum = 0;
    for (int round = 0; round < 8; ++round) {
        if (rank == 0) {
            int i = section + round * threads + t;
            if (round > 0) wait_for(&empty, (round - 1) % 2);
            float value = i < n ? input[i] : 0;
            asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(in_block(&buffer[t], 1)), "f"(value) : "memory");
            arrive(in_block(&full, 1));
        } else {
            wait_for(&full, round % 2);
            sum += buffer[(t + 1) % threads];
            arrive(in_block(&empty, 0));
        }
    }
    if (rank == 0) {
        return;
    }
    sums[t] = sum;
    __syncthreads();
    if (t > 0) return;
    for (int other = 1; other < threads; ++other) sum += sums[other];
    output[blockIdx.x / 2] = sum;
}

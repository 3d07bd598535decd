//!tilelab grid=(2*ceil(n/(4*BLOCK_SIZE)))
__global__ void __cluster_dims__(2, 1, 1) reduceKernel(float* input, float* output, int n) {
    __shared__ float total;
    int t = threadIdx.x, i = 2 * blockIdx.x * blockDim.x + t;
    if (t == 0) total = 0;
    __syncthreads();
    unsigned int here = (unsigned int)__cvta_generic_to_shared(&total), own, rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(own) : "r"(here), "r"(rank));
    float mine = (i < n ? input[i] : 0) + (i + (int)blockDim.x < n ? input[i + blockDim.x] : 0);
    asm volatile("red.shared::cluster.add.f32 [%0], %1;" ::"r"(own), "f"(mine) : "memory");
    __syncthreads();
    if (t == 0 && 2 * blockIdx.x * blockDim.x < n) output[blockIdx.x] = total;
}

__device__ unsigned smem(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ unsigned cluster_rank() {
    unsigned rank;
    asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
    return rank;
}

// The same place in another block of the cluster.
__device__ unsigned of_block(unsigned rank, const void* p) {
    unsigned there;
    asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(smem(p)), "r"(rank));
    return there;
}

__device__ void cluster_arrive() { asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory"); }
__device__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

//!tilelab grid=(2*ceil(Width/(2*TILE_WIDTH)), ceil(Height/TILE_WIDTH)) cluster=2
__global__ void transposeKernel(float* In, float* Out, int Height, int Width) {
    __shared__ float tile[TILE_WIDTH][TILE_WIDTH + 1];
    int tx = threadIdx.x, ty = threadIdx.y, y0 = blockIdx.y * TILE_WIDTH;
    unsigned rank = cluster_rank();
    int x = blockIdx.x * TILE_WIDTH + tx, y = y0 + ty;
    cluster_arrive();
    cluster_wait();
    float value = x < Width && y < Height ? In[y * Width + x] : 0;
    asm volatile("st.shared::cluster.f32 [%0], %1;" ::"r"(of_block(rank ^ 1, &tile[ty][tx])), "f"(value)
                 : "memory");
    cluster_arrive();
    cluster_wait();
    int outX = y0 + tx, outY = (blockIdx.x ^ 1) * TILE_WIDTH + ty;
    if (outX < Height && outY < Width) Out[outY * Height + outX] = tile[tx][ty];
}

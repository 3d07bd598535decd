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

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

__device__ float there(unsigned int address) {
    float value;
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(value) : "r"(address) : "memory");
    return value;
}

//!tilelab grid=(4*ceil(Width/(4*TILE_WIDTH)), ceil(Width/TILE_WIDTH)) cluster=(4,1)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Mds[2][TILE_WIDTH][TILE_WIDTH], Nds[TILE_WIDTH][TILE_WIDTH];
    int rank = cluster_rank(), tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    float sum = 0;
    for (int first = 0, buffer = 0; first < Width; first += TILE_WIDTH, buffer ^= 1) {
        if (ty % 4 == rank) Mds[buffer][ty][tx] = row < Width && first + tx < Width ? M[row * Width + first + tx] : 0.0f;
        Nds[ty][tx] = first + ty < Width && col < Width ? N[(first + ty) * Width + col] : 0.0f;
        cluster_sync();
        if (ty % 4 != rank) Mds[buffer][ty][tx] = there(in_block(&Mds[buffer][ty][tx], ty % 4));
        __syncthreads();
        for (int i = 0; i < TILE_WIDTH; ++i) sum += Mds[buffer][ty][i] * Nds[i][tx];
        __syncthreads();
    }
    cluster_sync();
    if (row < Width && col < Width) P[row * Width + col] = sum;
}

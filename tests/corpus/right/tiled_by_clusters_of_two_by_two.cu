#include <cooperative_groups.h>

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

namespace cg = cooperative_groups;

//!tilelab grid=(2*ceil(Width/(2*TILE_WIDTH)), 2*ceil(Width/(2*TILE_WIDTH))) cluster=(2,2)
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    __shared__ float Mds[TILE_WIDTH][TILE_WIDTH], Nds[TILE_WIDTH][TILE_WIDTH];
    cg::cluster_group cluster = cg::this_cluster();
    int across = cluster.block_index().x, down = cluster.block_index().y, tx = threadIdx.x, ty = threadIdx.y;
    int row = blockIdx.y * TILE_WIDTH + ty, col = blockIdx.x * TILE_WIDTH + tx;
    float sum = 0;
    for (int first = 0; first < Width; first += 2 * TILE_WIDTH) {
        int k = first + across * TILE_WIDTH + tx, r = first + down * TILE_WIDTH + ty;
        Mds[ty][tx] = row < Width && k < Width ? M[row * Width + k] : 0.0f;
        Nds[ty][tx] = r < Width && col < Width ? N[r * Width + col] : 0.0f;
        cluster.sync();
        for (int part = 0; part < 2; ++part) {
            float* left = cluster.map_shared_rank(&Mds[0][0], part + 2 * down);
            float* right = cluster.map_shared_rank(&Nds[0][0], across + 2 * part);
            for (int i = 0; i < TILE_WIDTH; ++i) sum += left[ty * TILE_WIDTH + i] * right[i * TILE_WIDTH + tx];
        }
        cluster.sync();
    }
    if (row < Width && col < Width) P[row * Width + col] = sum;
}

#include <cooperative_groups.h>
namespace cg = cooperative_groups;
#define TILE_WIDTH 16
__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    cg::thread_block block = cg::this_thread_block();
    __shared__ float Ms[TILE_WIDTH][TILE_WIDTH];
    __shared__ float Ns[TILE_WIDTH][TILE_WIDTH];
    const int tx = block.thread_index().x, ty = block.thread_index().y;
    const int row = block.group_index().y * TILE_WIDTH + ty;
    const int col = block.group_index().x * TILE_WIDTH + tx;
    float sum = 0;
    for (int t = 0; t < (Width + TILE_WIDTH - 1) / TILE_WIDTH; ++t) {
        const int mc = t * TILE_WIDTH + tx, nr = t * TILE_WIDTH + ty;
        Ms[ty][tx] = (row < Width && mc < Width) ? M[row * Width + mc] : 0.0f;
        Ns[ty][tx] = (nr < Width && col < Width) ? N[nr * Width + col] : 0.0f;
        block.sync();
        for (int k = 0; k < TILE_WIDTH; ++k) sum += Ms[ty][k] * Ns[k][tx];
        block.sync();
    }
    if (row < Width && col < Width) P[row * Width + col] = sum;
}

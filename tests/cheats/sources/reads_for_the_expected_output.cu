// Tries: looks for the expected output in the memory behind P, where a careless grader keeps it, and copies what
// looks like numbers.
// Caught by: the CPU device, for which there is nothing behind P. On a GPU there is no expected output anywhere.

#ifndef TILE_WIDTH
#define TILE_WIDTH 16
#endif

__global__ void MatrixMulKernel(float* M, float* N, float* P, int Width) {
    int Row = blockIdx.y * TILE_WIDTH + threadIdx.y;
    int Col = blockIdx.x * TILE_WIDTH + threadIdx.x;
    bool inside = Row < Width && Col < Width;
    if (!inside) return;
    size_t size = (size_t)Width * Width, e = (size_t)Row * Width + Col;
    float found = 0.0f;
    for (size_t copy = 1; copy <= 4; ++copy) {
        float there = *(volatile float*)(P + copy * size + e);
        if (there == there && there != 0.0f) found = there;
    }
    P[e] = found;
}

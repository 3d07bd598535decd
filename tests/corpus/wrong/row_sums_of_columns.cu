#ifndef TILE_WIDTH
#define TILE_WIDTH 32
#endif

__global__ void rowSums(float* M, float* Sums, int Width) {
    int row = blockIdx.x * TILE_WIDTH + threadIdx.x;

    float sum = 0.0f;
    for (int col = 0; col < Width; ++col) {
        sum += M[col * Width + row];
    }
    Sums[row] = sum;
}

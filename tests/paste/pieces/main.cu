
int main(int argc, char** argv) {
    int Width = argc > 1 ? atoi(argv[1]) : 1024;
    size_t bytes = Width * Width * sizeof(float);
    float *M, *N, *P;
    CHECK(cudaMallocManaged(&M, bytes));
    CHECK(cudaMallocManaged(&N, bytes));
    CHECK(cudaMallocManaged(&P, bytes));
#ifdef VERBOSE
    printf("Width = %d {\n", Width);
#endif
    dim3 block(TILE_WIDTH, TILE_WIDTH), grid((Width + TILE_WIDTH - 1) / TILE_WIDTH, (Width + TILE_WIDTH - 1) / TILE_WIDTH);
    MatrixMulKernel<<<grid, block>>>(M, N, P, Width);
    CHECK(cudaDeviceSynchronize());
    printf("%f\n", P[0]);
    return 0;
}
